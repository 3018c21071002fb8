// NCCL's environment variables as the user gives them: `nccl: {ALGO: Ring}` in YAML, `--nccl ALGO=Ring`, or a log's own lines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/nccl/system.h"
#include "sim/core/units.h"

namespace weft::coll::nccl {

class Settings {
 public:
  // `key` with or without "NCCL_"; ConfigError with the nearest known name if NCCL has no such variable, or if the value of one
  // that is modelled cannot be. Later calls replace earlier ones.
  void set(std::string_view key, std::string_view value);
  // The same for what a log says: unknown keys are kept and listed by ignored(), impossible values count as not given.
  void set_from_log(std::string_view key, std::string_view value);

  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;  // without "NCCL_"
  // A whole number in the variable's range; nothing where it is not given or cannot be.
  [[nodiscard]] std::optional<int> integer(std::string_view key) const;
  // The same whatever the range: NCCL itself moves some values into it.
  [[nodiscard]] std::optional<std::int64_t> raw_integer(std::string_view key) const;
  [[nodiscard]] std::optional<Bytes> bytes(std::string_view key) const;
  // Whole numbers separated by blanks, up to the first word that is none.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] const std::map<std::string, std::string>& all() const { return values_; }

  // `version`, which is no variable: the release whose behaviour is wanted; the newest modelled one where none is given.
  [[nodiscard]] NcclVersion version() const;
  [[nodiscard]] std::string release_note() const;  // where those rules are not its own

  // Variables given that change what NCCL does and that this version does not model, with their values.
  [[nodiscard]] std::vector<std::string> ignored() const;

 private:
  std::map<std::string, std::string> values_;  // keys without "NCCL_"
};

// A variable that set() takes.
struct KnownSetting {
  enum class Effect : std::uint8_t { kModelled, kNoted, kNone };  // kNone: it changes no time in NCCL either
  std::string_view name;                                          // without "NCCL_"
  Effect effect;
  std::string_view expected;  // values, of modelled ones
};
[[nodiscard]] std::vector<KnownSetting> known_settings();

}  // namespace weft::coll::nccl
