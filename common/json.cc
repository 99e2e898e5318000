#include "signpost/common/json.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

// Builds the document from the reader's events. The reader is the iterative one and containers on
// the way are kept here, so depth costs heap, not stack.
class Builder {
 public:
  explicit Builder(int max_depth) : max_depth_(max_depth) {}

  bool Null() { return Add(Json()); }
  bool Bool(bool value) { return Add(Json(value)); }
  bool Int(int value) { return Add(Json(int64_t{value})); }
  bool Uint(unsigned value) { return Add(Json(int64_t{value})); }
  bool Int64(int64_t value) { return Add(Json(value)); }
  bool Uint64(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Add(Json(static_cast<int64_t>(value)));
    }
    return Add(Json(static_cast<double>(value)));
  }
  bool Double(double value) { return Add(Json(value)); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return Add(Json(std::string(text, length)));
  }
  bool StartObject() { return Open(Json(Json::Object())); }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    open_.back().key.assign(text, length);
    return true;
  }
  bool EndObject(rapidjson::SizeType) { return Close(); }
  bool StartArray() { return Open(Json(Json::Array())); }
  bool EndArray(rapidjson::SizeType) { return Close(); }

  bool too_deep() const { return too_deep_; }
  Json Take() { return std::move(root_); }

 private:
  struct Level {
    bool is_object = false;
    std::string key;
    Json::Array array;
    Json::Object object;
  };

  bool Open(const Json& kind) {
    if (static_cast<int>(open_.size()) >= max_depth_) {
      too_deep_ = true;
      return false;
    }
    open_.emplace_back();
    open_.back().is_object = kind.is_object();
    return true;
  }

  bool Close() {
    Level level = std::move(open_.back());
    open_.pop_back();
    return Add(level.is_object ? Json(std::move(level.object)) : Json(std::move(level.array)));
  }

  bool Add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().object.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().array.push_back(std::move(value));
    }
    return true;
  }

  const int max_depth_;
  bool too_deep_ = false;
  std::vector<Level> open_;
  Json root_;
};

template <typename Writer>
void Write(const Json& json, Writer& writer) {
  if (json.is_null()) {
    writer.Null();
  } else if (json.is_bool()) {
    writer.Bool(json.AsBool());
  } else if (json.is_int()) {
    writer.Int64(json.AsInt());
  } else if (json.is_number()) {
    const double value = json.AsDouble();
    std::isfinite(value) ? writer.Double(value) : writer.Null();
  } else if (json.is_string()) {
    const std::string& text = json.AsString();
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  } else if (json.is_array()) {
    writer.StartArray();
    for (const Json& item : json.AsArray()) Write(item, writer);
    writer.EndArray();
  } else {
    writer.StartObject();
    for (const auto& [key, value] : json.AsObject()) {
      writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
      Write(value, writer);
    }
    writer.EndObject();
  }
}

const Json& NullJson() {
  static const Json* const null = new Json;
  return *null;
}

}  // namespace

absl::StatusOr<Json> Json::Parse(absl::string_view text, const Limits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON of ", text.size(), " bytes is over the limit of ", limits.max_bytes));
  }
  // The reader takes a zero byte for the end and would not see what follows.
  if (text.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON at offset ", text.find('\0'), ": a zero byte"));
  }
  Builder builder(limits.max_depth);
  rapidjson::Reader reader;
  rapidjson::MemoryStream raw(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(raw);
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (builder.too_deep()) {
    return absl::InvalidArgumentError(absl::StrCat("JSON is nested deeper than ", limits.max_depth,
                                                   " at offset ", result.Offset()));
  }
  if (result.IsError()) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON at offset ", result.Offset(), ": ",
                                                   rapidjson::GetParseError_En(result.Code())));
  }
  return builder.Take();
}

bool Json::AsBool(bool fallback) const {
  const bool* value = std::get_if<bool>(&value_);
  return value != nullptr ? *value : fallback;
}

int64_t Json::AsInt(int64_t fallback) const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  if (const auto* text = std::get_if<std::string>(&value_)) {
    int64_t parsed = 0;
    if (absl::SimpleAtoi(*text, &parsed)) return parsed;
  }
  return fallback;
}

double Json::AsDouble(double fallback) const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  return fallback;
}

const std::string& Json::AsString() const {
  static const std::string* const empty = new std::string;
  const auto* value = std::get_if<std::string>(&value_);
  return value != nullptr ? *value : *empty;
}

std::string Json::AsText() const {
  if (is_string()) return AsString();
  if (is_bool() || is_number()) return Print();
  return "";
}

const Json::Array& Json::AsArray() const {
  static const Array* const empty = new Array;
  const auto* value = std::get_if<Array>(&value_);
  return value != nullptr ? *value : *empty;
}

const Json::Object& Json::AsObject() const {
  static const Object* const empty = new Object;
  const auto* value = std::get_if<Object>(&value_);
  return value != nullptr ? *value : *empty;
}

const Json& Json::operator[](absl::string_view key) const {
  const Object& members = AsObject();
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->first == key) return member->second;
  }
  return NullJson();
}

bool Json::Has(absl::string_view key) const {
  for (const auto& [name, value] : AsObject()) {
    if (name == key) return true;
  }
  return false;
}

Json& Json::Set(absl::string_view key, Json value) {
  if (is_null()) value_ = Object();
  auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return *this;
  for (auto& [name, old] : *members) {
    if (name == key) {
      old = std::move(value);
      return *this;
    }
  }
  members->emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::Append(Json value) {
  if (is_null()) value_ = Array();
  if (auto* items = std::get_if<Array>(&value_)) items->push_back(std::move(value));
  return *this;
}

std::string Json::Print() const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  Write(*this, writer);
  return std::string(buffer.GetString(), buffer.GetSize());
}

std::string Json::PrintPretty() const {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 2);
  Write(*this, writer);
  return std::string(buffer.GetString(), buffer.GetSize());
}

Json JsonFromStringMap(const std::map<std::string, std::string>& map) {
  Json::Object members;
  members.reserve(map.size());
  for (const auto& [key, value] : map) members.emplace_back(key, value);
  return Json(std::move(members));
}

}  // namespace signpost
