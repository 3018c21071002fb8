#include "sim/network/import/nvidia_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/network/import/nccl_xml_links.h"
#include "sim/network/import/nvidia_smi_matrix.h"
#include "sim/network/import/source_text.h"
#include "sim/network/link_type.h"
#include "sim/network/node_template.h"

namespace weft::net {
namespace {

using smi::Cell;
using smi::is_gpu;
using smi::Matrix;
using smi::Row;
using smi::Token;

// Groups of devices that are joined, directly or through others.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);  // a group is named by its first member
  }
  std::size_t size_of(std::size_t i) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < parent_.size(); ++k) count += find(k) == find(i) ? 1 : 0;
    return count;
  }

 private:
  std::vector<std::size_t> parent_;
};

// NVLinks of one GPU by compute capability x 10 (models/network §1.1); A800 and H800 have 8.
constexpr std::pair<int, int> kNvlinksOf[] = {{60, 4}, {70, 6}, {80, 8}, {80, 12}, {86, 4}, {90, 8}, {90, 18}, {100, 18}};
// Two GPUs that are not named and share so many, all of an A100 or more, are taken as a part of a board with NVSwitches.
constexpr int kFewestOfABoard = 12;

class TopologyMaker {
 public:
  TopologyMaker(const SourceText& source, const Matrix& matrix, const Profile& profile, const ImportHints& options)
      : source_{source}, m_{matrix}, profile_{profile}, hints_{options}, sm_{options.sm.value_or(0)}, n_{matrix.rows.size()} {}

  Imported make(const std::string& name) {
    host_.name = name;
    find_nvlink_groups();
    guess_generation();
    for (std::size_t i = 0; i < n_; ++i) add_device(i);
    add_pcie_tree();
    add_nvlinks();
    builder_.add_host(builder_.add_template(std::move(host_)));
    return {std::move(builder_).freeze(), std::move(warnings_)};
  }

 private:
  void warn(std::string message) {
    warnings_.push_back(
        source_.at(m_.rows.front().name.offset, std::move(message), static_cast<int>(m_.rows.front().name.text.size())));
  }
  [[nodiscard]] bool gpu(std::size_t i) const { return is_gpu(m_.rows[i].name.text); }

  // ---- NVLink

  [[nodiscard]] std::vector<std::size_t> members_of(std::size_t group) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < n_; ++i) {
      if (nvlink_groups_.find(i) == group) members.push_back(i);
    }
    return members;
  }

  // The count that every GPU of a group has to every other, or 0.
  [[nodiscard]] int uniform_count(const std::vector<std::size_t>& group) const {
    const int count = m_.rows[group[0]].nvlinks[group[1]];
    for (const std::size_t i : group) {
      for (const std::size_t j : group) {
        if (i != j && m_.rows[i].nvlinks[j] != count) return 0;
      }
    }
    return count;
  }

  // One GPU has at most so many: of the kind that was named, else of any.
  [[nodiscard]] int most_nvlinks() const {
    int most = 0;
    int generation = 0;
    for (const auto& [sm, links] : kNvlinksOf) {
      if (sm_ != 0 && sm > sm_) continue;
      most = sm_ != 0 && sm > generation ? links : std::max(most, links);
      generation = sm;
    }
    return most;
  }

  // NVSwitches join all GPUs of a board, so two GPUs among others have a bridge. Two alone may be all that is seen of a board,
  // where they have all their links in common. More than two cannot have more links than a GPU has.
  [[nodiscard]] bool is_switched(const std::vector<std::size_t>& group) const {
    const auto gpus =
        static_cast<std::size_t>(std::ranges::count_if(m_.rows, [](const Row& r) { return is_gpu(r.name.text); }));
    const int count = uniform_count(group);
    if (group.size() == 2) return gpus == 2 && count >= (sm_ == 0 ? kFewestOfABoard : most_nvlinks());
    if (std::ranges::any_of(group, [&](std::size_t i) { return sum_of(i) > most_nvlinks(); })) return true;
    const auto is_all_of_a_gpu = [](int links) {
      return std::ranges::any_of(kNvlinksOf, [&](const auto& of) { return of.second == links; });
    };
    return sm_ == 0 && is_all_of_a_gpu(count) && !is_all_of_a_gpu(sum_of(group[0]));
  }

  // Through one switch two GPUs have as many NVLinks in common as the one that has fewer.
  void check_switched(const std::vector<std::size_t>& group) const {
    const auto most = [&](std::size_t i) { return *std::ranges::max_element(m_.rows[i].nvlinks); };
    for (const std::size_t i : group) {
      for (const std::size_t j : group) {
        if (i == j || m_.rows[i].nvlinks[j] == std::min(most(i), most(j))) continue;
        const auto worst = std::ranges::max_element(group, {}, [&](std::size_t k) { return sum_of(k); });
        const Token& at = m_.rows[i].tokens[j];
        throw ConfigError({source_.at(
            at.offset,
            fmt::format("{} to {} is {}: {} has NV{} in all, too many for direct links (at most NV{}), and NVSwitches would "
                        "join the two by NV{}",
                        m_.rows[i].name.text, m_.rows[j].name.text, at.text, m_.rows[*worst].name.text, sum_of(*worst),
                        most_nvlinks(), std::min(most(i), most(j))),
            static_cast<int>(at.text.size()))});
      }
    }
  }

  void find_nvlink_groups() {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (m_.rows[i].nvlinks[j] > 0) nvlink_groups_.join(i, j);
      }
    }
    std::map<std::pair<std::string, std::string>, int> guesses;  // what was seen and what was taken, how often
    for (std::size_t first = 0; first < n_; ++first) {
      const std::vector<std::size_t> group = members_of(first);
      if (group.size() < 2) continue;
      switched_[first] = is_switched(group);
      if (switched_[first]) check_switched(group);
      const int count = uniform_count(group);
      if (count == 0 && !switched_[first]) continue;
      const std::string links = count == 0 ? "NVLinks" : fmt::format("NV{}", count);
      ++guesses[{fmt::format("{} between all {} GPUs of", links, group.size()),
                 !switched_[first] ? "taken as direct links"
                 : count == 0      ? "taken as all NVLinks of each into one NVSwitch"
                                   : fmt::format("taken as {} NVLinks of each into one NVSwitch", count)}];
    }
    for (const auto& [guess, groups] : guesses)
      warn(fmt::format("{} {}: {}", guess.first, groups == 1 ? "a group" : fmt::format("each of {} groups", groups),
                       guess.second));
  }

  [[nodiscard]] int sum_of(std::size_t i) const {
    const auto& counts = m_.rows[i].nvlinks;
    return std::accumulate(counts.begin(), counts.end(), 0);
  }

  [[nodiscard]] int nvlinks_of(std::size_t i) {
    if (switched_[nvlink_groups_.find(i)]) return *std::ranges::max_element(m_.rows[i].nvlinks);
    return sum_of(i);
  }

  void guess_generation() {
    if (sm_ != 0) return;
    int most = 0;
    for (std::size_t i = 0; i < n_; ++i) most = std::max(most, nvlinks_of(i));
    sm_ = most > 12 ? 90 : most > 6 ? 80 : most > 4 ? 70 : most == 0 ? 80 : 60;
    warn(
        fmt::format("the matrix does not name the GPU: taken as compute capability {}.{} for its {} NVLinks; say which it is "
                    "(h100, b200, ...)",
                    sm_ / 10, sm_ % 10, most));
  }

  void add_nvlinks() {
    std::map<std::size_t, std::uint32_t> switches;
    for (std::size_t i = 0; i < n_; ++i) {
      const std::size_t group = nvlink_groups_.find(i);
      if (switched_[group]) {
        const auto [at, is_new] = switches.try_emplace(group, static_cast<std::uint32_t>(host_.devices.size()));
        if (is_new) add(DeviceKind::kNvSwitch, fmt::format("nvswitch{}", switches.size() - 1), {});
        add_pair(static_cast<std::uint32_t>(i), at->second, net::nvlinks_of(sm_, nvlinks_of(i), profile_));
        continue;
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (m_.rows[i].nvlinks[j] > 0)
          add_pair(static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(i),
                   net::nvlinks_of(sm_, m_.rows[i].nvlinks[j], profile_));
      }
    }
  }

  // ---- devices and the PCIe tree

  std::uint32_t add(DeviceKind kind, std::string name, Labels labels) {
    host_.devices.push_back({.name = std::move(name), .kind = kind, .forwarding = {}, .labels = std::move(labels)});
    return static_cast<std::uint32_t>(host_.devices.size() - 1);
  }

  void add_device(std::size_t i) {
    const Row& row = m_.rows[i];
    Labels labels;
    if (gpu(i)) {
      labels = {{"dev", std::string{row.name.text.substr(3)}}, {"sm", fmt::format("{}", sm_)}};
      if (!row.cpu_affinity.empty() && row.cpu_affinity != "N/A") labels.emplace_back("cpu_affinity", row.cpu_affinity);
      add(DeviceKind::kGpu, fmt::format("gpu{}", row.name.text.substr(3)), std::move(labels));
      return;
    }
    const auto legend = m_.nic_names.find(row.name.text);
    labels = {{"net_name", legend == m_.nic_names.end() ? std::string{row.name.text} : legend->second}};
    if (hints_.nic_rate) labels.emplace_back("speed", fmt::format("{} Mb/s", hints_.nic_rate->bits_per_second() / 1'000'000));
    add(DeviceKind::kNic, fmt::format("nic{}", nics_++), std::move(labels));
  }

  void add_pair(std::uint32_t a, std::uint32_t b, const LinkSpec& link) {
    const std::uint32_t spec = builder_.add_spec(link);
    const auto there = static_cast<std::uint32_t>(host_.links.size());
    host_.links.push_back({.from = a, .to = b, .spec = spec, .twin = there + 1, .labels = {}});
    host_.links.push_back({.from = b, .to = a, .spec = spec, .twin = there, .labels = {}});
    for (const std::uint32_t end : {a, b}) {
      TemplateDevice& device = host_.devices[end];
      if (device.kind == DeviceKind::kCpu)
        device.forwarding.latency = profile_.get(host_forwarding_params).root_complex_latency;
      if (device.kind != DeviceKind::kNvSwitch && device.kind != DeviceKind::kPcieSwitch) continue;
      device.forwarding.latency = find_link_type(link.type)->switch_latency(profile_);
      device.forwarding.header = std::max(link.overhead, Bytes{16});
    }
  }

  [[nodiscard]] Groups groups_up_to(Cell farthest) const {
    Groups groups{n_};
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (m_.rows[i].cells[j] <= farthest) groups.join(i, j);
      }
    }
    return groups;
  }

  void add_pcie_tree() {
    Groups pix = groups_up_to(Cell::kPix);
    Groups pxb = groups_up_to(Cell::kPxb);
    Groups node = groups_up_to(Cell::kNode);
    // NVLink hides the PCIe class; GPUs of one NUMA node are on one CPU, and without that all GPUs NVLink joins are.
    bool guessed = false;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (m_.rows[i].cells[j] != Cell::kNvlink) continue;
        const bool known = m_.rows[i].numa.has_value() && m_.rows[j].numa.has_value();
        if (known ? m_.rows[i].numa == m_.rows[j].numa : true) {
          if (!known) guessed = true;
          node.join(i, j);
        }
      }
    }
    if (guessed) warn("no NUMA affinity: GPUs joined by NVLink are taken to be on one CPU");
    const char* pcie = sm_ >= 90 ? "pcie5" : sm_ >= 80 ? "pcie4" : "pcie3";
    warn(fmt::format("PCIe speed and width are not in the matrix: taken as {} x16", pcie));
    const LinkSpec link = make_link_spec(pcie, 16, profile_);

    std::map<std::size_t, std::uint32_t> cpus;
    std::map<std::size_t, std::uint32_t> leaves;
    std::map<std::size_t, std::uint32_t> roots;
    int switches = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto [cpu, new_cpu] = cpus.try_emplace(node.find(i), 0);
      if (new_cpu) {
        Labels labels;
        if (m_.rows[i].numa) labels.emplace_back("numa", fmt::format("{}", *m_.rows[i].numa));
        for (const auto& [key, value] : hints_.cpu)
          labels.emplace_back(key == "familyid" ? "family" : key == "modelid" ? "model" : key, value);
        cpu->second = add(DeviceKind::kCpu, fmt::format("cpu{}", cpus.size() - 1), std::move(labels));
      }
      std::uint32_t above = cpu->second;
      // A group of PXB has a switch of its own, above those of its PIX groups.
      if (pxb.size_of(i) > pix.size_of(i)) {
        const auto [root, is_new] = roots.try_emplace(pxb.find(i), 0);
        if (is_new) {
          root->second = add(DeviceKind::kPcieSwitch, fmt::format("pcie{}", switches++), {});
          add_pair(root->second, above, link);
        }
        above = root->second;
      }
      if (pix.size_of(i) > 1 || pxb.size_of(i) > pix.size_of(i)) {
        const auto [leaf, is_new] = leaves.try_emplace(pix.find(i), 0);
        if (is_new) {
          leaf->second = add(DeviceKind::kPcieSwitch, fmt::format("pcie{}", switches++), {});
          add_pair(leaf->second, above, link);
        }
        above = leaf->second;
      }
      add_pair(static_cast<std::uint32_t>(i), above, link);
    }
    if (nics_ > 0 && !hints_.nic_rate) warn("the speed of NICs is not in the matrix (--nic-rate)");
    join_cpus(cpus);
    check_tree(pix, pxb, node);
  }

  void join_cpus(const std::map<std::size_t, std::uint32_t>& cpus) {
    if (cpus.size() < 2) return;
    LinkSpec link = make_link_spec(sm_ >= 90 ? "upi2" : "upi", 1, profile_);
    if (hints_.cpu.empty()) {
      warn(fmt::format("the kind of CPU is not in the matrix (--cpu): the link between sockets is taken as {}", link.type));
    } else {
      link = socket_link_of(cpu_class({.name = "cpu", .attributes = hints_.cpu, .children = {}}), profile_);
    }
    for (auto a = cpus.begin(); a != cpus.end(); ++a) {
      for (auto b = std::next(a); b != cpus.end(); ++b) add_pair(a->second, b->second, link);
    }
  }

  // A matrix need not be that of a tree: what the tree cannot show is said.
  void check_tree(Groups& pix, Groups& pxb, Groups& node) {
    int shown = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Cell said = m_.rows[i].cells[j];
        if (said == Cell::kNvlink) continue;
        const Cell made = pix.find(i) == pix.find(j)     ? Cell::kPix
                          : pxb.find(i) == pxb.find(j)   ? Cell::kPxb
                          : node.find(i) == node.find(j) ? Cell::kNode
                                                         : Cell::kSys;
        if (said == made || (said == Cell::kPhb && made == Cell::kNode) || ++shown > 8) continue;
        constexpr std::string_view kCellNames[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "NV"};
        const Token& at = m_.rows[i].tokens[j];
        warnings_.push_back(
            source_.at(at.offset,
                       fmt::format("{} to {} is {}, but other cells make it {}, which is taken", m_.rows[i].name.text,
                                   m_.rows[j].name.text, at.text, kCellNames[static_cast<std::size_t>(made)]),
                       static_cast<int>(at.text.size())));
      }
    }
  }

  const SourceText& source_;
  const Matrix& m_;
  const Profile& profile_;
  const ImportHints& hints_;
  int sm_;
  std::size_t n_;
  Groups nvlink_groups_{n_};
  std::vector<bool> switched_ = std::vector<bool>(n_, false);  // by first member of a group
  int nics_ = 0;
  HostTemplate host_;
  TopologyBuilder builder_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace

Imported import_nvidia_smi(std::string_view text, const std::string& file, const Profile& profile, const ImportHints& options) {
  const SourceText source{file, text};
  const Matrix matrix = smi::read_matrix(source);
  const std::size_t slash = file.find_last_of('/');
  const std::string stem = slash == std::string::npos ? file : file.substr(slash + 1);
  return TopologyMaker{source, matrix, profile, options}.make(stem.substr(0, stem.find('.')));
}

}  // namespace weft::net
