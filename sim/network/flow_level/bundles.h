// Resources of equal capacity that each footprint takes alike, or not at all: a bundle. All that holds for one of them holds
// for the others, so the fabric keeps and solves one: its answers are the same to the last bit. Routes that spread over all
// links between two tiers have thousands of resources and a few bundles.
//
// Bundles are refined as footprints come (partition refinement): one that takes a part of a bundle, or takes parts differently,
// splits it. Parts never join again. What a footprint of few resources takes gets bundles of its own at once: nothing is kept
// of such a footprint, and most are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/fair_share.h"
#include "sim/core/ids.h"

namespace weft::net {

class Bundles {
 public:
  // `part` begins as a copy of `from`, in all that is known of it.
  struct Split {
    std::uint32_t from = 0;
    std::uint32_t part = 0;
  };

  // Numbered from 0. The first of a capacity begins a bundle: true, and it has the next number.
  bool add_resource(double capacity);
  [[nodiscard]] std::size_t resource_count() const { return bundle_of_.size(); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  // Returns the bytes that keep footprints of many resources.
  [[nodiscard]] std::size_t shape_bytes() const;
  [[nodiscard]] std::uint32_t of(ResourceId resource) const { return bundle_of_[resource.index()]; }

  // A footprint's usages, each resource at most once; the next number, or another time for one that has changed. What had to be
  // split for it, in order, valid until the next call.
  std::span<const Split> set(FootprintId footprint, std::span<const Usage> usages);
  // The resource gets a bundle of its own.
  std::span<const Split> isolate(ResourceId resource);
  // Visits by bundle what set() was told, `usages`: visit(bundle, usage).
  template <typename Visit>
  void for_each(FootprintId footprint, std::span<const Usage> usages, Visit visit) const {
    if (const std::uint32_t shape = shape_of_[footprint.index()]; shape != kNone) {
      for (const Usage& usage : shapes_[shape]) visit(usage.resource.value(), usage.usage);
    } else {
      for (const Usage& usage : usages) visit(of(usage.resource), usage.usage);
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  static constexpr std::size_t kFew = 16;
  struct Mark {
    double usage = 0;
    std::uint32_t met = 0;  // of its members, so far
    std::uint32_t part = kNone;
  };

  void refine(std::vector<Usage>& shape);  // of pending_
  std::uint32_t add_bundle(std::uint32_t members, char used);
  void single_out(ResourceId resource);
  std::uint32_t split(std::uint32_t from);
  void move(ResourceId resource, std::uint32_t to);

  std::vector<std::uint32_t> bundle_of_;
  std::vector<char> used_;                                     // by bundle: a footprint has had it
  std::vector<std::uint32_t> members_;                         // by bundle: how many
  std::vector<std::vector<std::uint32_t>> users_;              // by bundle: shapes; those that have changed may be gone from it
  std::vector<std::uint32_t> shape_of_;                        // by footprint; none: of few resources
  std::vector<std::vector<Usage>> shapes_;                     // Usage::resource is the bundle's number
  std::vector<std::pair<double, std::uint32_t>> by_capacity_;  // the bundle that takes new resources of it
  std::vector<Split> splits_;
  std::vector<Mark> marks_;  // scratch, by bundle
  std::vector<std::uint32_t> touched_;
  std::vector<Usage> pending_;
  std::vector<Usage> others_;

 public:
  // Bytes of a bundle of one resource.
  static constexpr std::size_t kBytes =
      2 * sizeof(std::uint32_t) + sizeof(char) + sizeof(std::vector<std::uint32_t>) + sizeof(Mark);
};

}  // namespace weft::net
