// Transfers over a hybrid fabric, or over one of its two kinds alone, and when each was delivered.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/simulator.h"
#include "sim/network/builtin.h"
#include "sim/network/hybrid_fabric.h"
#include "sim/network/router.h"

namespace weft::testing {

struct HybridPost {
  std::string from;
  std::string to;
  Bytes bytes;
  Time at = {};
};

// Links by the names that topologies print.
inline std::vector<bool> links_named(const net::Topology& topology, const std::vector<std::string>& names) {
  std::vector<bool> chosen(topology.link_count());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (const std::string& name : names) {
      if (topology.name(LinkId::from_index(i)) == name) chosen[i] = true;
    }
  }
  return chosen;
}

class HybridRun final : private net::TransferListener, private EventTarget {
 public:
  enum class Kind { kFlow, kPacket, kHybrid };

  HybridRun(const net::Topology& topology, const std::string& routing, Kind kind, std::vector<bool> chosen = {},
            const net::PacketSettings& settings = {})
      : component_{simulator_.add_component("test")}, router_{topology, net::make_routing_policy(routing), 1} {
    if (kind == Kind::kFlow) {
      fabric_ = std::make_unique<net::FlowFabric>(simulator_, topology);
    } else if (kind == Kind::kPacket) {
      fabric_ = std::make_unique<net::PacketFabric>(simulator_, router_, settings, 1);
    } else {
      fabric_ = std::make_unique<net::HybridFabric>(simulator_, router_, settings, 1, std::move(chosen));
    }
  }

  // When each was delivered, after its post; transfer i has i as its entropy.
  std::vector<Duration> of(const std::vector<HybridPost>& posts) {
    posts_ = posts;
    taken_.resize(posts.size());
    ids_.resize(posts.size());
    for (std::size_t i = 0; i < posts.size(); ++i) simulator_.schedule(posts[i].at, Phase::kAction, component_, *this, i);
    simulator_.run();
    fabric_->check_conservation();
    EXPECT_EQ(freed_, posts.size());
    return taken_;
  }
  [[nodiscard]] net::Fabric& fabric() { return *fabric_; }
  [[nodiscard]] net::HybridFabric& hybrid() { return static_cast<net::HybridFabric&>(*fabric_); }
  [[nodiscard]] Simulator& simulator() { return simulator_; }
  [[nodiscard]] TransferId id(std::size_t post) const { return ids_[post]; }

 private:
  void on_event(std::uint64_t i) override {
    const HybridPost& post = posts_[i];
    const auto device = [&](const std::string& name) { return *router_.topology().find(name); };
    const FootprintId footprint = fabric_->add_footprint(router_.route(device(post.from), device(post.to), {i}));
    ids_[i] = fabric_->post({.footprint = footprint, .bytes = post.bytes, .tag = i}, *this);
  }
  void on_source_free(TransferId id, std::uint64_t tag) override {
    EXPECT_EQ(id, ids_[tag]);
    ++freed_;
  }
  void on_delivered(TransferId id, std::uint64_t tag) override {
    EXPECT_EQ(id, ids_[tag]);
    taken_[tag] = simulator_.now() - posts_[tag].at;
  }
  void on_aborted(TransferId, std::uint64_t) override { ADD_FAILURE(); }

  Simulator simulator_;
  ComponentId component_;
  net::Router router_;
  std::unique_ptr<net::Fabric> fabric_;
  std::vector<HybridPost> posts_;
  std::vector<TransferId> ids_;
  std::vector<Duration> taken_;
  std::size_t freed_ = 0;
};

}  // namespace weft::testing
