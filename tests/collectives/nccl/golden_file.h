// Reads what NCCL 2.30.7's own code answered for a machine (models/nccl §A): its channels, its costs, its choices.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/network/import/nccl_xml_reader.h"

namespace weft::coll::nccl::golden {

struct CostEntry {
  std::string collective;  // "AllReduce"
  std::string algo;        // "RING"
  std::string proto;       // "SIMPLE"
  std::string latency;     // as printed
  std::string bandwidth;
};

struct SelectionRow {
  std::string collective;
  std::int64_t bytes = 0;
  std::string algo;
  std::string proto;
  int channels = 0;
  int warps = 0;
  std::string estimate_us;
};

struct File {
  std::string name;  // "h100-n2"
  CommInfo comm;
  std::vector<CostEntry> costs;
  std::vector<SelectionRow> rows;
};

inline net::PathClass path_class(const std::string& name) {
  for (int c = 0; c <= static_cast<int>(net::PathClass::kDis); ++c) {
    if (to_string(static_cast<net::PathClass>(c)) == name) return static_cast<net::PathClass>(c);
  }
  throw std::runtime_error("no path class " + name);
}

// The words of a line in pairs: "nCh 8 bwIntra 48.00" gives {"nCh": "8", "bwIntra": "48.00"}.
inline std::map<std::string, std::string> pairs_of(std::istringstream& words) {
  std::map<std::string, std::string> pairs;
  std::string key;
  std::string value;
  while (words >> key >> value) pairs[key] = value;
  return pairs;
}

inline Graph read_graph(GraphKind kind, std::istringstream& words) {
  std::map<std::string, std::string> pairs = pairs_of(words);
  Graph graph;
  graph.kind = kind;
  graph.pattern = static_cast<GraphPattern>(std::stoi(pairs.at("pattern")));
  graph.cross_nic = std::stoi(pairs.at("crossNic"));
  graph.bandwidth_intra = std::stof(pairs.at("bwIntra"));
  graph.bandwidth_inter = std::stof(pairs.at("bwInter"));
  graph.type_intra = path_class(pairs.at("typeIntra"));
  graph.type_inter = path_class(pairs.at("typeInter"));
  graph.same_channels = pairs.at("same") == "1";
  return graph;
}

inline GraphChannel read_channel(std::istringstream& words) {
  GraphChannel channel;
  std::string word;
  while (words >> word) {
    if (!word.starts_with("net")) {
      channel.gpus.push_back(std::stoi(word));
    } else if (channel.gpus.empty()) {
      channel.net_in = std::stoi(word.substr(3));
    } else {
      channel.net_out = std::stoi(word.substr(3));
    }
  }
  return channel;
}

// "RING/LL 15 us 80.5714 GB/s; ..."
inline void read_costs(const std::string& collective, std::istringstream& words, std::vector<CostEntry>& costs) {
  std::string name;
  std::string latency;
  std::string us;
  std::string bandwidth;
  std::string unit;
  while (words >> name >> latency >> us >> bandwidth >> unit) {
    const std::size_t slash = name.find('/');
    costs.push_back({collective, name.substr(0, slash), name.substr(slash + 1), latency, bandwidth});
  }
}

inline SelectionRow read_row(const std::string& line) {
  std::istringstream fields{line};
  std::vector<std::string> field(7);
  for (std::string& text : field) std::getline(fields, text, ',');
  return {field[0], std::stoll(field[1]), field[2], field[3], std::stoi(field[4]), std::stoi(field[5]), field[6]};
}

// GPUs and CPU of a golden machine, from its topology XML in tests/data/topologies.
inline void read_hardware(const std::string& machine, CommInfo& comm) {
  const auto intel = [&](int sm) {
    comm.min_sm = comm.max_sm = sm;
    comm.cpu = {.arch = net::CpuArch::kX86, .vendor = net::CpuVendor::kIntel, .model = net::CpuModel::kSapphireRapids};
  };
  if (machine == "a100") {
    intel(80);
    comm.cpu.vendor = net::CpuVendor::kAmd;
  } else if (machine == "dgx1v") {
    intel(70);
  } else if (machine == "b200") {
    intel(100);
  } else if (machine.starts_with("gb200")) {
    intel(100);
    comm.cpu = {.arch = net::CpuArch::kArm};
  } else if (machine == "pcie4") {
    intel(89);
  } else {
    intel(90);
  }
}

inline File read(const std::string& name) {
  File file;
  file.name = name;
  CommInfo& comm = file.comm;
  comm.version = NcclVersion::k2_30;
  comm.nvls_channels = 0;
  read_hardware(name.substr(0, name.rfind("-n")), comm);
  std::istringstream in{net::read_text_file(std::string{WEFT_TEST_DATA} + "/nccl_golden/" + name + ".txt")};
  Graph* graph = nullptr;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words{line};
    std::string first;
    words >> first;
    if (line.starts_with("#")) continue;
    if (first == "==") {
      std::string xml;
      words >> xml;
      std::map<std::string, std::string> pairs = pairs_of(words);
      comm.nodes = std::stoi(pairs.at("nNodes"));
      comm.ranks_per_node = std::stoi(pairs.at("GPUs"));
      comm.ranks = comm.nodes * comm.ranks_per_node;
      comm.nvswitch = pairs.at("NVS") != "0";
    } else if (first == "ring") {
      graph = &(comm.ring = read_graph(GraphKind::kRing, words));
    } else if (first == "tree") {
      graph = &(comm.tree = read_graph(GraphKind::kTree, words));
    } else if (first == "nvls") {
      graph = &comm.nvls_graph.emplace(read_graph(GraphKind::kNvls, words));
      comm.nvls = true;
    } else if (first.starts_with("ch")) {
      std::istringstream after{line.substr(line.find(':') + 1)};
      graph->channels.push_back(read_channel(after));
    } else if (first == "coll") {
      int chunk = 0;
      int tree_chunk = 0;
      std::sscanf(line.c_str(), "coll channels %d nvls channels %d (search nHeads %*d) nvlsChunk %d treeMax %d minNetBw %f",
                  &comm.channels, &comm.nvls_channels, &chunk, &tree_chunk, &comm.min_net_bandwidth);
      comm.nvls_chunk = Bytes{chunk};
      comm.nvls_tree_max_chunk = Bytes{tree_chunk};
    } else if (first == "p2p") {
      std::sscanf(line.c_str(), "p2p channels %d, per peer %d", &comm.p2p_channels, &comm.p2p_channels_per_peer);
      comm.p2p_chunk = comm.nodes == 1 && comm.ring.type_intra == net::PathClass::kNvl ? Bytes{512 << 10} : Bytes{128 << 10};
    } else if (line.find(" us ") != std::string::npos) {
      read_costs(first, words, file.costs);
    } else if (line.find(',') != std::string::npos) {
      file.rows.push_back(read_row(line));
    }
  }
  return file;
}

// The names of all golden files, sorted.
inline std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator{std::string{WEFT_TEST_DATA} + "/nccl_golden"}) {
    if (entry.path().extension() == ".txt") all.push_back(entry.path().stem().string());
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace weft::coll::nccl::golden
