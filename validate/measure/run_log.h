// Writes the records of one run: numbers them, and adds what every record of a point carries.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "measurement_file.h"
#include "options.h"
#include "plan.h"

namespace weft::measure {

class RunLog {
 public:
  // Opens the output as the options say: new, overwritten or resumed. UsageError if it exists and neither was asked for, or
  // holds something else.
  explicit RunLog(const Options& options);

  [[nodiscard]] const std::set<std::string>& done() const { return earlier_.done; }
  // The header, or a record that the run goes on.
  void begin(const std::string& machine, const Environment& env, std::size_t planned);
  // `members` as the worker gave them; `env` is what NCCL ran under, if it took part.
  void point(const Point& point, const std::string& members, const std::optional<Environment>& env);
  void skip(const std::string& what, const std::string& reason, const std::string& id = {});
  void end(const char* reason, std::size_t planned);
  // Rows of a perftest program's output; UsageError if there are none.
  void perftest(const std::string& path);

  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] std::size_t measured() const { return measured_; }

 private:
  void write(class JsonObject& record);

  Options options_;
  EarlierRun earlier_;
  std::unique_ptr<MeasurementFile> file_;
  double begin_s_;
  long sequence_ = 0;
  std::size_t measured_ = 0;
};

[[nodiscard]] Environment merged(Environment outer, const Environment& inner);

}  // namespace weft::measure
