#include "signpost/common/yaml.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "signpost/common/url.h"

namespace signpost {
namespace {

constexpr absl::string_view kStandardTag = "tag:yaml.org,2002:";

bool AllDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Decimals of YAML's core schema: digits with at most one point, and an exponent.
bool IsDecimal(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const size_t exponent = text.find_first_of("eE");
  if (exponent != absl::string_view::npos) {
    absl::string_view digits = text.substr(exponent + 1);
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
    if (!AllDigits(digits)) return false;
    text = text.substr(0, exponent);
  }
  const size_t point = text.find('.');
  if (point == absl::string_view::npos) return AllDigits(text);
  const absl::string_view before = text.substr(0, point);
  const absl::string_view after = text.substr(point + 1);
  return (!before.empty() || !after.empty()) && (before.empty() || AllDigits(before)) &&
         (after.empty() || AllDigits(after));
}

// YAML 1.1's, but for `y` and `n`, which SnakeYAML leaves alone.
std::optional<bool> OldBoolean(absl::string_view text) {
  static constexpr std::pair<absl::string_view, bool> kWords[] = {
      {"true", true}, {"yes", true}, {"on", true}, {"false", false}, {"no", false}, {"off", false}};
  for (const auto& [word, value] : kWords) {
    if (!absl::EqualsIgnoreCase(text, word)) continue;
    // yes, Yes, YES; not yEs.
    const absl::string_view rest = text.substr(1);
    const bool regular = rest == word.substr(1) || text == absl::AsciiStrToUpper(word);
    return regular ? std::make_optional(value) : std::nullopt;
  }
  return std::nullopt;
}

// What a plain scalar means.
Json ResolvePlain(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return Json();
  }
  if (text == "true" || text == "True" || text == "TRUE") return Json(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json(false);
  absl::string_view digits = text;
  if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
  int64_t whole = 0;
  if (AllDigits(digits) && absl::SimpleAtoi(text, &whole)) return Json(whole);
  if (absl::StartsWith(text, "0x") && absl::SimpleHexAtoi(text, &whole)) return Json(whole);
  double decimal = 0;
  if (IsDecimal(text) && absl::SimpleAtod(text, &decimal)) return Json(decimal);
  return Json(text);
}

// A finished node and what it costs when an alias repeats it.
struct Node {
  Json value;
  std::string key_text;  // of a scalar, as it stands in the text
  bool is_scalar = false;
  int height = 0;  // containers below and with it
  size_t nodes = 1;
  size_t bytes = 0;
};

// Builds documents from the parser's events. After the first fault it lets everything pass: the
// parser itself is bounded by the size of its text and by its own limit of nesting.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const YamlLimits& limits) : limits_(limits) {}

  const absl::Status& status() const { return status_; }
  Json Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The parser takes a stray `]` or `}` for an empty document, again and again, and never moves.
    if (mark.pos <= last_start_) Fail(mark, "unexpected text");
    last_start_ = mark.pos;
    open_.clear();
    anchors_.clear();
    root_ = Json();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.is_scalar = true;
    Add(mark, anchor, std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!status_.ok()) return;
    Node node;
    node.is_scalar = true;
    node.key_text = text;
    node.bytes = text.size();
    absl::string_view kind = tag;
    if (tag.empty() || tag == "?") {
      node.value = ResolvePlain(text);
      if (limits_.plain_is_text && !node.value.is_null()) node.value = Json(text);
      if (limits_.yaml_1_1_booleans) {
        if (const auto boolean = OldBoolean(text)) node.value = Json(*boolean);
      }
    } else if (tag == "!") {
      node.value = Json(text);
    } else if (!absl::ConsumePrefix(&kind, kStandardTag)) {
      return Fail(mark, "a custom tag");
    } else if (kind == "str") {
      node.value = Json(text);
    } else {
      node.value = ResolvePlain(text);
      const bool fits =
          (kind == "int" && node.value.is_int()) || (kind == "float" && node.value.is_number()) ||
          (kind == "bool" && node.value.is_bool()) || (kind == "null" && node.value.is_null());
      if (!fits) return Fail(mark, "a custom tag, or a scalar that is not what its tag says");
    }
    Add(mark, anchor, std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!status_.ok()) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return Fail(mark, "an alias inside of what it stands for");
    const Node& target = found->second;
    // Weighed before it is copied.
    if (!Charge(mark, target.nodes, target.bytes)) return;
    if (static_cast<int>(open_.size()) + target.height > limits_.max_depth) return TooDeep(mark);
    Place(mark, Node(target));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, "seq", anchor, false);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, "map", anchor, true);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    YAML::Mark mark;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool is_map = false;
    bool has_key = false;
    std::string key;
    std::set<std::string> keys;
    Json::Array array;
    Json::Object object;
    int height = 0;
    size_t nodes = 1;
    size_t bytes = 0;
  };

  void Fail(const YAML::Mark& mark, absl::string_view what) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("YAML line ", mark.line + 1, " column ", mark.column + 1, ": ", what));
  }

  void TooDeep(const YAML::Mark& mark) {
    Fail(mark, absl::StrCat("nested deeper than ", limits_.max_depth));
  }

  // Counts what is about to exist, aliases as what they stand for.
  bool Charge(const YAML::Mark& mark, size_t nodes, size_t bytes) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > limits_.max_nodes) {
      Fail(mark, absl::StrCat("more than ", limits_.max_nodes, " nodes"));
    } else if (bytes_ > limits_.max_bytes) {
      Fail(mark, absl::StrCat("aliases repeat text to over ", limits_.max_bytes, " bytes"));
    }
    return status_.ok();
  }

  void Open(const YAML::Mark& mark, absl::string_view tag, absl::string_view kind,
            YAML::anchor_t anchor, bool is_map) {
    if (!status_.ok()) return;
    if (!tag.empty() && tag != "?" && tag != "!" && tag != absl::StrCat(kStandardTag, kind)) {
      return Fail(mark, "a custom tag");
    }
    if (static_cast<int>(open_.size()) >= limits_.max_depth) return TooDeep(mark);
    if (!Charge(mark, 1, 0)) return;
    Level level;
    level.mark = mark;
    level.anchor = anchor;
    level.is_map = is_map;
    open_.push_back(std::move(level));
  }

  void Close() {
    if (!status_.ok()) return;
    Level level = std::move(open_.back());
    open_.pop_back();
    Node node;
    node.value = level.is_map ? Json(std::move(level.object)) : Json(std::move(level.array));
    node.height = level.height + 1;
    node.nodes = level.nodes;
    node.bytes = level.bytes;
    Anchor(level.mark, level.anchor, node);
    Place(level.mark, std::move(node));
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Node node) {
    if (!status_.ok() || !Charge(mark, node.nodes, node.bytes)) return;
    Anchor(mark, anchor, node);
    Place(mark, std::move(node));
  }

  // The copy that aliases are made from counts too.
  void Anchor(const YAML::Mark& mark, YAML::anchor_t anchor, const Node& node) {
    if (anchor == YAML::NullAnchor) return;
    if (Charge(mark, node.nodes, node.bytes)) anchors_[anchor] = node;
  }

  void Place(const YAML::Mark& mark, Node node) {
    if (!status_.ok()) return;
    if (open_.empty()) {
      root_ = std::move(node.value);
      return;
    }
    Level& level = open_.back();
    level.height = std::max(level.height, node.height);
    level.nodes += node.nodes;
    level.bytes += node.bytes;
    if (!level.is_map) {
      level.array.push_back(std::move(node.value));
    } else if (level.has_key) {
      level.has_key = false;
      level.object.emplace_back(std::move(level.key), std::move(node.value));
    } else {
      if (!node.is_scalar || node.key_text.empty()) return Fail(mark, "a key that is no text");
      if (node.key_text == "<<") return Fail(mark, "merge keys are not supported");
      if (!level.keys.insert(node.key_text).second) return Fail(mark, "a duplicate key");
      level.key = std::move(node.key_text);
      level.has_key = true;
    }
  }

  const YamlLimits limits_;
  absl::Status status_;
  int last_start_ = -1;
  std::vector<Level> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  size_t nodes_ = 0;
  size_t bytes_ = 0;
  Json root_;
};

}  // namespace

absl::StatusOr<std::vector<Json>> ParseYaml(absl::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("YAML of ", text.size(), " bytes is over the limit of ", limits.max_bytes));
  }
  if (!IsValidUtf8(text) || absl::StrContains(text, absl::string_view("\0", 1))) {
    return absl::InvalidArgumentError("YAML: not UTF-8 text");
  }
  // The library reports faults by exceptions; none leaves this function.
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(limits);
    std::vector<Json> documents;
    while (parser.HandleNextDocument(builder)) {
      if (!builder.status().ok()) return builder.status();
      if (documents.size() >= limits.max_nodes) {
        return absl::InvalidArgumentError("YAML: too many documents");
      }
      documents.push_back(builder.Take());
    }
    return documents;
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("YAML line ", error.mark.line + 1, " column ",
                                                   error.mark.column + 1, ": ", error.msg));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("YAML: ", error.what()));
  } catch (...) {
    return absl::InvalidArgumentError("YAML: cannot be read");
  }
}

}  // namespace signpost
