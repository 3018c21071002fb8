#include "sim/core/config/nearest.h"

#include "sim/core/words.h"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

// Names longer than this are nobody's typo, and the distance costs the product of the lengths.
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kNamesShown = 40;
constexpr std::size_t kShortestWord = 4;  // that says what is meant

// The first candidate whose first word (up to '_') the name begins with: adamw, of adam_foreach and adam_fused.
std::string begins_like(std::string_view name, const std::vector<std::string>& sorted) {
  const std::string wanted = lower_case(name);
  for (const std::string& candidate : sorted) {
    const std::string word = lower_case(std::string_view{candidate}.substr(0, candidate.find('_')));
    if (word.size() >= kShortestWord && wanted.starts_with(word)) return candidate;
  }
  return {};
}

}  // namespace

// Optimal string alignment: the recurrence of Levenshtein with one more case, two neighbours swapped (Damerau, 1964).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > kLongestName) return {};
  const std::string wanted = lower_case(name);
  std::size_t limit = std::max<std::size_t>(name.size() / 3, name.size() >= 4 ? 2 : 1);
  std::string best;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > name.size() + limit || name.size() > candidate.size() + limit) continue;
    const std::size_t distance = edit_distance(wanted, lower_case(candidate));
    // Everything may be replaced in a name as short as the limit, an option's letter: that is another name, not a typo.
    const std::size_t dashes = std::min({name.find_first_not_of('-'), candidate.find_first_not_of('-'), name.size()});
    if (distance > limit || distance + dashes >= std::max(name.size(), candidate.size())) continue;
    if (best.empty() || distance < limit || candidate < best) best = candidate;
    limit = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates, std::string_view what) {
  std::vector<std::string> sorted{candidates.begin(), candidates.end()};
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string note;
  std::string best = nearest(name, sorted);
  if (best.empty()) best = begins_like(name, sorted);
  if (!best.empty()) note = "did you mean '" + best + "'? ";
  note += what;
  note += ':';
  if (sorted.empty()) note += " none";
  for (std::size_t i = 0; i < sorted.size() && i < kNamesShown; ++i) note += (i == 0 ? " " : ", ") + sorted[i];
  if (sorted.size() > kNamesShown) note += ", and " + std::to_string(sorted.size() - kNamesShown) + " more";
  return note;
}

}  // namespace weft
