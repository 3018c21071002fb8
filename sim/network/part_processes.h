// Processes that run the parts of one fabric together (parted_fabric.h), each with those of its own. The first one answers for
// all; what the others have to tell they tell it at the end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::net {

class PartProcesses {
 public:
  virtual ~PartProcesses() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // The first `count` of them begin. Every process calls it, the first one when it knows that there is work for the others.
  // Throws ServedOthers where this process has none.
  virtual void begin(int count) = 0;
  // Gives each of those processes a text, and returns theirs, by rank; its own is empty. All of them call it as often.
  [[nodiscard]] virtual std::vector<std::string> exchange(std::vector<std::string> to) = 0;
  virtual void finish() = 0;  // nothing is exchanged any more
};

// This process has done its share, or there is none for it. No error, and so no std::exception.
struct ServedOthers {};

}  // namespace weft::net
