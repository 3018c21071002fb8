#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/xml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>
#include <utility>

namespace weft::net {
namespace {

// Refuses in the text what can grow without bound, before a tree of it exists. That is markup declarations (the only door to
// entity bombs) and more elements than any machine has.
void refuse_dangerous(const SourceText& source) {
  const std::string_view text = source.text();
  std::size_t elements = 0;
  for (std::size_t i = text.find('<'); i != std::string_view::npos; i = text.find('<', i)) {
    const std::string_view rest = text.substr(i + 1);
    if (rest.starts_with("!--")) {
      const std::size_t end = text.find("-->", i + 4);
      if (end == std::string_view::npos) throw ConfigError({source.at(i, "comment is not closed")});
      i = end;
      continue;
    }
    if (rest.starts_with("!")) {
      throw ConfigError({source.at(i, "markup declarations (DOCTYPE, ENTITY, CDATA) are refused in a topology file", 2)});
    }
    if (!rest.starts_with("/") && !rest.starts_with("?") && ++elements > kMaxXmlElements) {
      throw ConfigError({source.at(i, fmt::format("more than {} elements", kMaxXmlElements))});
    }
    ++i;
  }
}

class TreeBuilder {
 public:
  explicit TreeBuilder(const SourceText& source) : source_{source} {}

  XmlElement build(const pugi::xml_node& node, int depth) {
    XmlElement element;
    element.name = node.name();
    element.offset =
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 1)) - 1;  // debug points at the name
    if (depth > kMaxXmlDepth)
      throw ConfigError({source_.at(element.offset, fmt::format("elements nest deeper than {}", kMaxXmlDepth))});
    for (const pugi::xml_attribute attribute : node.attributes()) {
      if (element.find(attribute.name()) != nullptr) {
        throw ConfigError(
            {source_.at(element.offset, fmt::format("{}: attribute '{}' is given twice", element.name, attribute.name()),
                        static_cast<int>(element.name.size()) + 1)});
      }
      element.attributes.emplace_back(attribute.name(), attribute.value());
    }
    for (const pugi::xml_node child : node.children()) {
      if (child.type() == pugi::node_pcdata) {
        throw ConfigError({source_.at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(child.offset_debug(), 0)),
                                      fmt::format("{}: text between elements", element.name))});
      }
      if (child.type() == pugi::node_element) element.children.push_back(build(child, depth + 1));
    }
    return element;
  }

 private:
  const SourceText& source_;
};

void append_element(std::string& out, const XmlElement& element, std::size_t indent) {
  out.append(indent, ' ');
  out += '<';
  out += element.name;
  for (const auto& [name, value] : element.attributes) {
    out += fmt::format(" {}=\"", name);
    append_escaped(out, value);
    out += '"';
  }
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const XmlElement& child : element.children) append_element(out, child, indent + 2);
  out.append(indent, ' ');
  out += fmt::format("</{}>\n", element.name);
}

// AMD's data sheets give both directions of a link together: MI50 and MI100 92 GB/s, MI200 100, MI300 128, MI350 153.6. RCCL
// plans with 24, 36, 48 and 48 GB/s (its src/graph/topo.h).
struct XgmiGeneration {
  std::string_view gcn;  // begins so
  std::int64_t megabytes_per_second;
  double planned;
};
constexpr XgmiGeneration kXgmiGenerations[] = {
    {"gfx90a", 50'000, 36}, {"gfx94", 64'000, 48}, {"gfx95", 76'800, 48}, {"gfx908", 46'000, 24}};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &std::pair<std::string, std::string>::first);
  return found == attributes.end() ? nullptr : &found->second;
}

const XmlElement* XmlElement::child(std::string_view element) const {
  const auto found = std::ranges::find(children, element, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

XmlElement parse_xml(const SourceText& source) {
  refuse_dangerous(source);
  pugi::xml_document document;
  const std::string_view text = source.text();
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    std::string what = result.description();
    if (!what.empty() && what.front() >= 'A' && what.front() <= 'Z') what.front() = static_cast<char>(what.front() - 'A' + 'a');
    throw ConfigError(
        {source.at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)), "not well-formed XML: " + what)});
  }
  const pugi::xml_node root = document.document_element();
  for (const pugi::xml_node node : document.children()) {
    if (node.type() == pugi::node_element && node != root) {
      throw ConfigError({source.at(static_cast<std::size_t>(node.offset_debug()) - 1, "a second root element")});
    }
  }
  return TreeBuilder{source}.build(root, 1);
}

std::string to_text(const XmlElement& root) {
  std::string out;
  append_element(out, root, 0);
  return out;
}

PciRole pci_role(std::string_view pci_class) {
  constexpr std::pair<std::string_view, PciRole> kRoles[] = {
      {"0x060400", PciRole::kSwitch},   {"0x080100", PciRole::kSwitch},
      {"0x068000", PciRole::kNvSwitch}, {"0x068001", PciRole::kCpuBridge},
      {"0x03", PciRole::kGpu},          {"0x120000", PciRole::kGpu},
      {"0x02", PciRole::kNic}};
  for (const auto& [prefix, role] : kRoles) {
    if (pci_class.starts_with(prefix)) return role;
  }
  return PciRole::kSwitch;
}

std::optional<int> pcie_lane_rate(std::string_view link_speed) {
  constexpr std::pair<std::string_view, int> kRates[] = {
      {"2.5 GT/s", 15},   {"5 GT/s", 30},   {"5.0 GT/s", 30},   {"8 GT/s", 60},   {"8.0 GT/s", 60},  {"16 GT/s", 120},
      {"16.0 GT/s", 120}, {"32 GT/s", 240}, {"32.0 GT/s", 240}, {"64 GT/s", 480}, {"64.0 GT/s", 480}};
  for (const auto& [text, rate] : kRates) {
    if (link_speed.starts_with(text)) return rate;  // NCCL compares no further: "32 GT/s PCIe/s" is known
  }
  return std::nullopt;
}

std::optional<std::uint64_t> bus_id_number(std::string_view bus_id) {
  std::uint64_t value = 0;
  int digits = 0;
  for (const char c : bus_id) {
    if (c == ':' || c == '.') continue;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0 || ++digits > 14) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  if (digits == 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_attribute_integer(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CpuClass cpu_class(const XmlElement& cpu) {
  const auto text = [&](std::string_view name) {
    const std::string* value = cpu.find(name);
    return value == nullptr ? std::string_view{} : std::string_view{*value};
  };
  const auto number = [&](std::string_view name) { return parse_attribute_integer(text(name)).value_or(0); };
  CpuClass result;
  const std::string_view arch = text("arch");
  result.arch = arch == "x86_64"  ? CpuArch::kX86
                : arch == "arm64" ? CpuArch::kArm
                : arch == "ppc64" ? CpuArch::kPower
                                  : CpuArch::kUnknown;
  if (result.arch != CpuArch::kX86) return result;
  const std::string_view vendor = text("vendor");
  if (vendor == "GenuineIntel") {
    result.vendor = CpuVendor::kIntel;
    const std::int64_t model = number("familyid") == 6 ? number("modelid") : 0;
    result.model = model >= 0xCF   ? CpuModel::kEmeraldRapids
                   : model >= 0x8F ? CpuModel::kSapphireRapids
                   : model >= 0x55 ? CpuModel::kSkylake
                                   : CpuModel::kBroadwell;
  } else if (vendor == "AuthenticAMD") {
    result.vendor = CpuVendor::kAmd;
  } else if (vendor == "CentaurHauls" || vendor == "  Shanghai  ") {
    result.vendor = CpuVendor::kZhaoxin;
    if (number("familyid") == 7 && number("modelid") == 0x5B) result.model = CpuModel::kYongfeng;
  }
  return result;
}

XgmiLink xgmi_link(std::string_view gcn) {
  constexpr std::pair<std::string_view, std::string_view> kOldNames[] = {{"910", "gfx90a"}, {"940", "gfx942"}};
  for (const auto& [old, name] : kOldNames) {
    if (gcn == old) gcn = name;
  }
  const XgmiGeneration* found =
      std::ranges::find_if(kXgmiGenerations, [&](const XgmiGeneration& g) { return gcn.starts_with(g.gcn); });
  if (found == std::end(kXgmiGenerations)) found = std::prev(std::end(kXgmiGenerations));  // RCCL takes all others alike
  return {Bandwidth::from_bytes_per_second(found->megabytes_per_second * 1'000'000), found->planned};
}

std::string_view gcn_of_xgmi_rate(Bandwidth rate) {
  const auto matches = [&](const XgmiGeneration& g) {
    return Bandwidth::from_bytes_per_second(g.megabytes_per_second * 1'000'000) == rate;
  };
  const XgmiGeneration* found = std::ranges::find_if(kXgmiGenerations, matches);
  if (found == std::end(kXgmiGenerations)) return "gfx942";
  constexpr std::string_view kFullNames[] = {"gfx90a", "gfx942", "gfx950", "gfx908"};
  return kFullNames[found - std::begin(kXgmiGenerations)];
}

double inter_socket_gigabytes_per_second(const CpuClass& cpu) {
  if (cpu.arch == CpuArch::kPower) return 32.0;
  if (cpu.arch == CpuArch::kArm) return 6.0;
  switch (cpu.vendor) {
    case CpuVendor::kIntel:
      return cpu.model == CpuModel::kEmeraldRapids    ? 40.0
             : cpu.model == CpuModel::kSapphireRapids ? 22.0
             : cpu.model == CpuModel::kSkylake        ? 10.0
                                                      : 6.0;
    case CpuVendor::kAmd:
      return 16.0;
    case CpuVendor::kZhaoxin:
      return cpu.model == CpuModel::kYongfeng ? 9.0 : 6.0;
    case CpuVendor::kUnknown:
      return 5000.0;
  }
  return 5000.0;
}

}  // namespace weft::net
