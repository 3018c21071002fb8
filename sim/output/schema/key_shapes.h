// Keys that files of each kind may have, as their readers asked for them: a tree of keys with the types of their values.
//
//   KeyShapes shapes;
//   shapes.begin("cluster", file, true);
//   { const WatchedReading watching{shapes}; load_cluster(file, {}, diagnostics); }
//   shapes.end(0);
//   shapes.of("cluster").keys.at("fabric")
//
// A part that is a file of its own kind wherever it stands, such as the cluster of a scenario, is noted at that kind alone.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/config/reading_watch.h"

namespace weft::output {

struct KeyShape;

// A place in a file: keys, and "[]" for the items of a list.
using KeySteps = std::vector<std::string>;

// A file that stands, or is named, inside files of another kind.
struct PartOfItsOwn {
  std::string_view kind;
  std::string_view path;  // steps with dots between them
  std::string_view part;
};
[[nodiscard]] std::span<const PartOfItsOwn> parts_of_their_own();
// The place in `root`; null where no file that was read has it.
[[nodiscard]] KeyShape* find_shape(KeyShape& root, std::string_view path);

// A value at one place of one kind of file.
struct KeyShape {
  std::map<std::string, std::unique_ptr<KeyShape>> keys;
  std::unique_ptr<KeyShape> items;   // of a list
  std::unique_ptr<KeyShape> others;  // of a map whose keys the user names
  std::set<std::string> types;       // as ParamReader declares them
  std::set<std::string> default_values;
  std::set<std::string> names;  // that a registry knows here
  std::string kind;             // of file, where one may stand or be named here
  bool is_laid_over = false;    // only a part of such a file
  std::size_t readings = 0;     // of this map, without an error
  std::size_t required = 0;     // readings of the map around it that required this key
  std::size_t asked_absent = 0;
  bool may_lack = false;  // in some reading, sound or not, the map went on without it
  bool was_read = false;  // as a map: no other keys are allowed

  // Where an example stands: a file of this kind, and the path in it.
  std::string file;
  std::string path;
  std::size_t file_size = 0;  // maps in that file and in all that it names, and what was built of it
};

// A key that no reader knows by name. Where it is read nevertheless, the keys of that map are the user's.
inline constexpr std::string_view kAnyKey = "any_key_at_all";

class KeyShapes : public ReadingWatch {
 public:
  // A reading of a file. Where it is not `sound`, what it declares counts only where no sound one declared it.
  void begin(std::string kind, std::string file, bool sound);
  void end(std::size_t built);

  void on_map(const ParamReader& reader) override;
  void on_names(const std::string& path, std::span<const std::string> names) override;

  [[nodiscard]] KeyShape& of(const std::string& kind) { return kinds_[kind]; }

 private:
  struct Asked {
    ParamReader::Declaration declaration;
    bool is_there = false;
  };

  void note_tree(const ConfigNode& node);
  [[nodiscard]] KeySteps steps_to(const std::string& path) const;
  // The shape, and whether it belongs to the kind of the file that is read.
  std::pair<KeyShape*, bool> at(const std::string& path);
  void add(const std::string& path, const std::map<std::string, Asked>& asked_keys, std::size_t size);

  std::map<std::string, KeyShape> kinds_;
  std::string kind_;
  std::string file_;
  bool sound_ = true;
  std::map<std::string, std::map<std::string, Asked>> maps_;  // by path and key
  std::vector<std::pair<std::string, std::vector<std::string>>> names_;
  std::unordered_map<std::string, std::pair<std::string, std::string>>
      parents_;  // of a path: the one above it, and the last step
};

}  // namespace weft::output
