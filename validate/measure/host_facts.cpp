#include "host_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace weft::measure {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

std::string value_of(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return {};
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  return begin == std::string::npos ? std::string{} : line.substr(begin);
}

void add_processor(JsonObject& machine) {
  std::ifstream file{"/proc/cpuinfo"};
  std::string model;
  std::set<std::string> sockets;
  for (std::string line; std::getline(file, line);) {
    if (model.empty() && line.starts_with("model name")) model = value_of(line);
    if (line.starts_with("physical id")) sockets.insert(value_of(line));
  }
  if (!model.empty()) machine.add("cpu", model);
  machine.add("cpus", std::thread::hardware_concurrency());
  if (!sockets.empty()) machine.add("sockets", sockets.size());
}

void add_memory(JsonObject& machine) {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) machine.add("memory_bytes", static_cast<long long>(pages) * page);
}

void add_nics(JsonObject& machine) {
  std::vector<std::string> nics;
  for (const std::string& name : rdma_devices()) {
    const std::string folder = "/sys/class/infiniband/" + name;
    JsonObject nic;
    nic.add("name", name).add("rate", first_line(folder + "/ports/1/rate"));
    const std::string numa = first_line(folder + "/device/numa_node");
    if (!numa.empty()) nic.add("numa_node", std::atoi(numa.c_str()));
    nics.push_back(nic.text());
  }
  machine.add_raw("nics", json_array(nics));
}

}  // namespace

std::vector<std::string> rdma_devices() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/sys/class/infiniband", ignored}) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void add_host_facts(JsonObject& machine, bool with_name) {
  utsname system{};
  const bool known = uname(&system) == 0;
  machine.add("hostname", known && with_name ? static_cast<const char*>(system.nodename) : "");
  if (known) machine.add("kernel", static_cast<const char*>(system.release));
  add_processor(machine);
  add_memory(machine);
  add_nics(machine);
}

Environment nccl_environment() {
  Environment settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (text.starts_with("NCCL_") && equals != std::string::npos) {
      settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  std::sort(settings.begin(), settings.end());
  return settings;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace weft::measure
