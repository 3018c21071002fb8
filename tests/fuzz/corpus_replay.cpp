// Fuzzing without libFuzzer: every corpus file as it is and mutated, the same mutations on every machine.
//
//   fuzz_corpus tests/fuzz/corpus 2000        # mutations of each file
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/random.h"
#include "tests/fuzz/one_input.h"

namespace weft::fuzz {
namespace {

std::vector<std::filesystem::path> sorted(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::size_t below(RandomStream& random, std::size_t limit) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random.below(limit));
}

// Numbers that are too large, signs, words of none, brackets: what readers stumble over.
constexpr const char* kPieces[] = {"-1",
                                   "0",
                                   "9223372036854775808",
                                   "1e999",
                                   "nan",
                                   "1000000000",
                                   "\n",
                                   ",",
                                   "[",
                                   "{",
                                   "}",
                                   "\"",
                                   "null",
                                   "\xff",
                                   "/*",
                                   ":",
                                   "-",
                                   "requires",
                                   "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02",
                                   "%%%%"};

std::string mutated(std::string input, RandomStream& random) {
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t c = 0; c < changes; ++c) {
    const std::size_t at = below(random, input.size() + 1);
    const std::size_t length = below(random, std::min<std::size_t>(input.size() - at, 64) + 1);
    switch (below(random, 6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random.bits() & 0xFFU);
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(static_cast<unsigned char>(input[at]) ^ (1U << below(random, 8)));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, input.substr(at, length));
        break;
      case 4:
        input.insert(at, kPieces[below(random, std::size(kPieces))]);
        break;
      default:
        if (below(random, 8) == 0) input.resize(at);
        break;
    }
  }
  return input;
}

int run(const std::filesystem::path& corpus, int mutations) {
  int inputs = 0;
  for (const std::string_view name : target_names()) {
    if (std::filesystem::is_directory(corpus / name)) continue;
    std::fprintf(stderr, "%s: no inputs of '%s'\n", corpus.c_str(), std::string{name}.c_str());
    return 1;
  }
  for (const std::filesystem::path& folder : sorted(corpus)) {
    const std::string format = folder.filename().string();
    for (const std::filesystem::path& file : sorted(folder)) {
      const std::string seed = content(file);
      RandomStream random{1, format + "/" + file.filename().string()};
      for (int i = -1; i < mutations; ++i) {
        const std::string input = i < 0 ? seed : mutated(seed, random);
        ++inputs;
        try {
          const Outcome outcome = read_input(format, input);
          if (i < 0 && outcome == Outcome::kRefused && !file.filename().string().starts_with("bad")) {
            std::fprintf(stderr, "%s: is refused\n", file.c_str());
            return 1;
          }
        } catch (const std::exception& error) {
          std::ofstream{"fuzz_failure", std::ios::binary} << input;
          std::fprintf(stderr, "%s, mutation %d (kept in ./fuzz_failure): %s\n", file.c_str(), i, error.what());
          return 1;
        }
      }
    }
  }
  std::printf("%d inputs read or refused\n", inputs);
  return 0;
}

}  // namespace
}  // namespace weft::fuzz

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fuzz_corpus CORPUS MUTATIONS\n");
    return 2;
  }
  return weft::fuzz::run(argv[1], std::atoi(argv[2]));
}
