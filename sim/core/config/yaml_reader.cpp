// From the events of yaml-cpp 0.7 to our tree. yaml-cpp's own Node is not used: it takes repeated keys in silence, merges
// nothing for `<<`, guesses types, and its marks of empty and aliased values point elsewhere.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>

#include "sim/core/config/tree.h"

namespace weft::detail {
namespace {

using Kind = ConfigNode::Kind;

// Feeds yaml-cpp in small pieces and watches that it gets somewhere: its scanner holds every token from an opening bracket to
// the closing one, some 230 bytes for each byte of "[[[[", before the first event comes out.
class WatchedBuffer : public std::streambuf {
 public:
  explicit WatchedBuffer(const std::shared_ptr<const SourceFile>& source) : source_{source} {}

  void event() { pending_from_ = given_; }

 protected:
  int_type underflow() override {
    const std::string& text = source_->text;
    const std::size_t size = std::min(kPiece, text.size() - given_);
    if (size == 0) return traits_type::eof();
    if (given_ + size - pending_from_ > kMaxPendingBytes) refuse();
    char* begin = const_cast<char*>(text.data()) + given_;  // streambuf's interface; nothing writes
    setg(begin, begin, begin + size);
    given_ += size;
    return traits_type::to_int_type(*begin);
  }

 private:
  static constexpr std::size_t kPiece = 2048;

  [[noreturn]] void refuse() const {
    const auto& starts = source_->line_starts;
    const auto line = std::upper_bound(starts.begin(), starts.end(), pending_from_) - starts.begin();
    throw ConfigError({diagnostic_at({source_, static_cast<int>(line), 1, 1}, "a value of over 4 MiB begins about here",
                                     "write a long list with '- ' instead of brackets, or as a file of its own kind")});
  }

  std::shared_ptr<const SourceFile> source_;
  std::size_t given_ = 0;
  std::size_t pending_from_ = 0;  // what was given at the last event
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const SourceFile> source, WatchedBuffer& buffer) : source_{std::move(source)}, buffer_{buffer} {}

  [[nodiscard]] bool has_document() const { return documents_ > 0; }

  // The document's tree; throws what was found wrong with it.
  Tree finish() {
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
    return std::move(top_);
  }

  // yaml-cpp's marks count from 0, columns in bytes.
  [[nodiscard]] Mark mark_at(const YAML::Mark& mark, std::size_t bytes = 1) {
    Mark result;
    result.source = source_;
    result.line = std::max(mark.line, 0) + 1;
    const std::string_view line = source_->line(result.line);
    const std::size_t before = std::min(static_cast<std::size_t>(std::max(mark.column, 0)), line.size());
    // Events come in order: counting on from the last mark keeps a list of 10^5 items on one line linear.
    if (counted_.line != result.line || counted_.bytes > before) counted_ = {result.line, 0, 0};
    counted_.characters += characters(line.substr(counted_.bytes, before - counted_.bytes));
    counted_.bytes = before;
    result.column = counted_.characters + 1;
    result.length = std::max(characters(line.substr(before, bytes)), 1);
    return result;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    // yaml-cpp also takes what follows a complete value for a new document, marker or not.
    const bool marked = marks_document(mark.line + 1) || marks_document(mark.line);
    if (marked) fail(mark_at(mark), "a second document begins here", "a file holds one document; remove the line '---'");
    fail(mark_at(mark), "not YAML: this belongs to nothing, as what stands above is complete", "check the indentation");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) return refuse_key(mark, "a key is missing before ':'");
    place(std::make_shared<TreeValue>(), place_of_parent(mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) return refuse_key(mark, "an alias cannot be a key");
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) fail(mark_at(mark), "an alias cannot stand inside the value that it names", {});
    // Whoever walks the tree meets the value again: count it again, before anybody does.
    values_ += known->second->values - 1;
    const int depth = static_cast<int>(open_.size()) + known->second->height;
    if (depth > kMaxDepth) fail(mark_at(mark), too_deep(), {});
    place(known->second, place_of_parent(mark), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    const std::size_t begin = skip_anchor(mark);
    Mark where = mark_at(shifted(mark, begin), value.size() + (tag == "!" ? 2 : 0));
    check_tag(where, tag);
    const bool quoted = tag == "!";
    if (quoted) check_closed(where, shifted(mark, begin));
    if (expects_key()) return take_key(std::move(where), value, quoted);
    auto scalar = std::make_shared<TreeValue>();
    scalar->kind = Kind::kScalar;
    scalar->quoted = quoted;
    scalar->scalar = value;
    place(std::move(scalar), std::move(where), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    start(Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Frame {
    std::shared_ptr<TreeValue> value;
    Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool dropped = false;  // the key was refused: its value is read and forgotten
    std::string key;
    Mark key_mark;
    std::map<std::string, Mark, std::less<>> seen;  // keys of a map
  };

  static std::string too_deep() { return "nested deeper than " + std::to_string(kMaxDepth) + " levels"; }

  [[noreturn]] void fail(const Mark& mark, std::string message, std::string note) {
    errors_.push_back(diagnostic_at(mark, std::move(message), std::move(note)));
    throw ConfigError(std::move(errors_));
  }

  void report(const Mark& mark, std::string message, std::string note) {
    errors_.push_back(diagnostic_at(mark, std::move(message), std::move(note)));
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().value->kind == Kind::kMap && !open_.back().has_key;
  }

  // Whether as many brackets close from here on as open; those in quotes and comments do not count.
  [[nodiscard]] bool is_closed(const YAML::Mark& mark) const {
    const std::string_view text = std::string_view{source_->text}.substr(std::min<std::size_t>(mark.pos, source_->text.size()));
    int open = 0;
    char quote = 0;
    bool in_comment = false;
    for (const char c : text) {
      if (c == '\n') in_comment = false;
      if (in_comment) continue;
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '#') {
        in_comment = true;
      } else if (c == '[' || c == '{') {
        ++open;
      } else if (c == ']' || c == '}') {
        if (--open == 0) return true;
      }
    }
    return open == 0;
  }

  void refuse_key(const YAML::Mark& mark, const char* message) {
    fail(mark_at(mark), message, "a key is a plain word before ': '");
  }

  // Empty and aliased values: where their key stands, or the list they are in.
  [[nodiscard]] Mark place_of_parent(const YAML::Mark& mark) {
    if (open_.empty()) return mark_at(mark);
    return open_.back().has_key ? open_.back().key_mark : open_.back().mark;
  }

  // The mark of an anchored value is that of its '&name'. Bytes to skip to what follows on the same line.
  [[nodiscard]] std::size_t skip_anchor(const YAML::Mark& mark) const {
    const std::string_view line = source_->line(mark.line + 1);
    const auto begin = static_cast<std::size_t>(mark.column);
    if (begin >= line.size() || line[begin] != '&') return 0;
    const std::size_t name_end = line.find_first_of(" \t", begin);
    const std::size_t next = name_end == std::string_view::npos ? name_end : line.find_first_not_of(" \t", name_end);
    return next == std::string_view::npos ? 0 : next - begin;
  }
  static YAML::Mark shifted(YAML::Mark mark, std::size_t columns) {
    mark.column += static_cast<int>(columns);
    return mark;
  }

  [[nodiscard]] bool marks_document(int line_number) const {
    const std::string_view line = source_->line(line_number);
    return line.starts_with("---") || line.starts_with("...");
  }

  // yaml-cpp takes the end of the file for a closing quote.
  void check_closed(const Mark& where, const YAML::Mark& mark) {
    const std::string_view text = source_->text;
    std::size_t i = source_->line_starts[static_cast<std::size_t>(where.line) - 1] + static_cast<std::size_t>(mark.column);
    const char quote = i < text.size() ? text[i] : ' ';
    if (quote != '"' && quote != '\'') return;  // a block scalar
    for (++i; i < text.size(); ++i) {
      const bool doubled = quote == '\'' && text.substr(i, 2) == "''";
      if (text[i] == quote && !doubled) break;
      if (doubled || (quote == '"' && text[i] == '\\')) ++i;
    }
    if (i >= text.size()) fail(where, "not YAML: this quote is never closed", {});
  }

  void check_tag(const Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    report(mark, "tags such as '!!str' are not supported", "put a text that looks like something else in quotes");
  }

  void take_key(Mark where, const std::string& key, bool quoted) {
    buffer_.event();
    Frame& map = open_.back();
    map.has_key = true;
    map.dropped = false;
    map.key = key;
    map.key_mark = where;
    if (!quoted && key == "<<") {
      map.dropped = true;
      return report(where, "merge key '<<' is not supported",
                    "repeat the keys, or lay the file over another with 'extends: base.yaml'");
    }
    const auto [first, is_new] = map.seen.try_emplace(key, where);
    if (!is_new) {
      map.dropped = true;
      report(where, "repeated key '" + key + "'", "first given in line " + std::to_string(first->second.line));
    }
  }

  void start(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    buffer_.event();
    // A list of lists that ends too early looks like a key, too.
    if (expects_key() && !is_closed(mark)) fail(mark_at(mark), "a bracket that opens here is not closed", {});
    if (expects_key()) refuse_key(mark, kind == Kind::kMap ? "a map cannot be a key" : "a list cannot be a key");
    Frame frame;
    frame.value = std::make_shared<TreeValue>();
    frame.value->kind = kind;
    frame.mark = mark_at(shifted(mark, skip_anchor(mark)));
    frame.anchor = anchor;
    check_tag(frame.mark, tag);
    if (open_.size() >= static_cast<std::size_t>(kMaxDepth)) fail(frame.mark, too_deep(), {});
    open_.push_back(std::move(frame));
  }

  void end() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    frame.value->close();
    place(std::move(frame.value), std::move(frame.mark), frame.anchor);
  }

  // A value is complete: puts it under the key or into the list that is open.
  void place(std::shared_ptr<const TreeValue> value, Mark where, YAML::anchor_t anchor) {
    buffer_.event();
    if (++values_ > kMaxValues) {
      fail(where, "more than 1,000,000 values, aliases expanded", "values under an alias count each time it is used");
    }
    if (anchor != 0) anchors_[anchor] = value;
    if (open_.empty()) {
      top_ = Tree{std::move(value), std::move(where)};
      return;
    }
    Frame& parent = open_.back();
    if (parent.dropped) {
      parent.has_key = parent.dropped = false;
      return;
    }
    TreeEntry entry{std::move(parent.key), {}, std::move(where), std::move(value)};
    entry.key_mark = parent.has_key ? std::move(parent.key_mark) : entry.value_mark;
    parent.key.clear();
    parent.has_key = false;
    parent.value->entries.push_back(std::move(entry));
  }

  std::shared_ptr<const SourceFile> source_;
  WatchedBuffer& buffer_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, std::shared_ptr<const TreeValue>> anchors_;
  std::vector<Diagnostic> errors_;
  Tree top_;
  struct {
    int line = 0;
    std::size_t bytes = 0;
    int characters = 0;
  } counted_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

}  // namespace

namespace {

// Says what usually lies behind the terse texts of yaml-cpp.
std::string hint(std::string_view message) {
  if (message == YAML::ErrorMsg::MAP_VALUE) return "': ' inside a value needs quotes; keys of one map stand in one column";
  if (message == YAML::ErrorMsg::UNKNOWN_TOKEN) return "a value that begins with one of @ ` % needs quotes";
  if (message == YAML::ErrorMsg::END_OF_MAP || message == YAML::ErrorMsg::END_OF_SEQ) return "check the indentation";
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "a '{' is not closed, or a comma is missing";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "a '[' is not closed, or a comma is missing";
  if (message.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR))  // later versions name it
    return "a value that begins with * needs quotes, unless it repeats one marked with &";
  return {};
}

}  // namespace

Tree read_yaml(const std::shared_ptr<const SourceFile>& source) {
  WatchedBuffer buffer{source};
  TreeBuilder builder{source, buffer};
  std::istream stream{&buffer};
  try {
    YAML::Parser parser{stream};
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    // yaml-cpp's texts are lower case without a full stop, as ours are.
    throw ConfigError({diagnostic_at(builder.mark_at(exception.mark), "not YAML: " + exception.msg, hint(exception.msg))});
  }
  Tree tree = builder.finish();
  if (!builder.has_document() || tree.value == nullptr || (tree.value->kind == Kind::kNull)) {
    Diagnostic diagnostic;
    diagnostic.where.file = source->name;
    diagnostic.message = "file is empty";
    throw ConfigError({std::move(diagnostic)});
  }
  return tree;
}

}  // namespace weft::detail
