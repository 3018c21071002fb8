#include "sim/network/flow_level/bundles.h"

#include <algorithm>
#include <utility>

namespace weft::net {

// Only a bundle that no footprint uses may take another resource.
bool Bundles::add_resource(double capacity) {
  const auto known = std::ranges::find(by_capacity_, capacity, &std::pair<double, std::uint32_t>::first);
  if (known != by_capacity_.end() && used_[known->second] == 0) {
    bundle_of_.push_back(known->second);
    ++members_[known->second];
    return false;
  }
  const std::uint32_t bundle = add_bundle(1, 0);
  bundle_of_.push_back(bundle);
  if (known != by_capacity_.end()) {
    known->second = bundle;
  } else {
    by_capacity_.emplace_back(capacity, bundle);
  }
  return true;
}

std::span<const Bundles::Split> Bundles::set(FootprintId footprint, std::span<const Usage> usages) {
  splits_.clear();
  if (footprint.index() >= shape_of_.size()) shape_of_.resize(footprint.index() + 1, kNone);
  std::uint32_t& shape = shape_of_[footprint.index()];
  if (usages.size() <= kFew) {
    shape = kNone;
    for (const Usage& usage : usages) single_out(usage.resource);
    return splits_;
  }
  if (shape == kNone) {
    shape = static_cast<std::uint32_t>(shapes_.size());
    shapes_.emplace_back();
  }
  shapes_[shape].clear();
  pending_.assign(usages.begin(), usages.end());
  std::vector<Usage> taken;
  while (!pending_.empty()) refine(taken);
  for (const Usage& usage : taken) {
    users_[usage.resource.index()].push_back(shape);
    used_[usage.resource.index()] = 1;
  }
  shapes_[shape] = std::move(taken);
  return splits_;
}

// Takes of each bundle the resources that are used as its first one is; the others stay pending.
void Bundles::refine(std::vector<Usage>& shape) {
  others_.clear();
  touched_.clear();
  for (const Usage& usage : pending_) {
    const std::uint32_t bundle = of(usage.resource);
    Mark& mark = marks_[bundle];
    if (mark.met == 0) {
      mark.usage = usage.usage;
      touched_.push_back(bundle);
    }
    if (mark.usage == usage.usage) {
      ++mark.met;
    } else {
      others_.push_back(usage);
    }
  }
  const std::size_t before = splits_.size();
  for (const std::uint32_t bundle : touched_) {
    if (marks_[bundle].met == members_[bundle]) continue;
    const std::uint32_t part = split(bundle);  // may move marks_
    marks_[bundle].part = part;
  }
  if (splits_.size() > before) {
    for (const Usage& usage : pending_) {
      const Mark& mark = marks_[of(usage.resource)];
      if (mark.part != kNone && mark.usage == usage.usage) move(usage.resource, mark.part);
    }
  }
  for (const std::uint32_t bundle : touched_) {
    const Mark mark = std::exchange(marks_[bundle], {});
    shape.push_back({ResourceId{mark.part != kNone ? mark.part : bundle}, mark.usage});
  }
  std::swap(pending_, others_);
}

std::span<const Bundles::Split> Bundles::isolate(ResourceId resource) {
  splits_.clear();
  single_out(resource);
  return splits_;
}

void Bundles::single_out(ResourceId resource) {
  if (members_[of(resource)] > 1) move(resource, split(of(resource)));
  used_[of(resource)] = 1;  // what is added later does not join it
}

std::uint32_t Bundles::add_bundle(std::uint32_t members, char used) {
  members_.push_back(members);
  used_.push_back(used);
  users_.emplace_back();
  marks_.emplace_back();
  return static_cast<std::uint32_t>(members_.size() - 1);
}

// A part without members yet, which all footprints of the whole use as they use that.
std::uint32_t Bundles::split(std::uint32_t from) {
  const std::uint32_t part = add_bundle(0, used_[from]);
  std::vector<std::uint32_t> users;
  for (const std::uint32_t user : users_[from]) {
    std::vector<Usage>& shape = shapes_[user];
    const auto whole = std::ranges::find(shape, ResourceId{from}, &Usage::resource);
    if (whole == shape.end() || shape.back().resource == ResourceId{part}) continue;  // changed since, or met already
    shape.push_back({ResourceId{part}, whole->usage});
    users.push_back(user);
  }
  users_[from] = users;
  users_[part] = std::move(users);
  splits_.push_back({from, part});
  return part;
}

std::size_t Bundles::shape_bytes() const {
  std::size_t bytes = shapes_.capacity() * sizeof(shapes_[0]) + shape_of_.capacity() * sizeof(shape_of_[0]);
  for (const std::vector<Usage>& shape : shapes_) bytes += shape.capacity() * sizeof(Usage);
  for (const std::vector<std::uint32_t>& users : users_) bytes += users.capacity() * sizeof(users[0]);
  return bytes;
}

void Bundles::move(ResourceId resource, std::uint32_t to) {
  --members_[of(resource)];
  ++members_[to];
  bundle_of_[resource.index()] = to;
}

}  // namespace weft::net
