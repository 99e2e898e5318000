#include "signpost/metadata/hessian2/metadata_service_v1.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/metadata/hessian2/make_value.h"

namespace signpost::hessian2 {
namespace {

constexpr char kMetadataInfoClass[] = "org.apache.dubbo.metadata.MetadataInfo";
constexpr char kServiceInfoClass[] = "org.apache.dubbo.metadata.MetadataInfo$ServiceInfo";
constexpr char kString[] = "java.lang.String";

constexpr int64_t kMaxPort = 65535;

// What one document may become. Parts that a message refers to many times count each time.
constexpr size_t kMaxDocumentBytes = 32 << 20;
constexpr size_t kEntryBytes = 32;   // to look at one
constexpr size_t kParamBytes = 128;  // of a map's node

absl::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInt:
    case Kind::kLong:
      return "a whole number";
    case Kind::kDouble:
      return "a double";
    case Kind::kDate:
      return "a date";
    case Kind::kString:
      return "a string";
    case Kind::kBinary:
      return "binary";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kObject:
      return "an object";
  }
  return "unknown";
}

// Text of a foreign peer, for an error.
std::string Shown(absl::string_view text) {
  constexpr size_t kMost = 80;
  return absl::StrCat(absl::CHexEscape(text.substr(0, kMost)), text.size() > kMost ? "..." : "");
}

absl::Status Wrong(absl::string_view field, absl::string_view expected, const Value& value) {
  std::string what(NameOf(value.kind));
  if (!value.type.empty()) absl::StrAppend(&what, " ", Shown(value.type));
  return absl::InvalidArgumentError(
      absl::StrCat("metadata document: ", field, ": ", expected, " is expected, not ", what));
}

// Turns one value into a document.
class Conversion {
 public:
  absl::StatusOr<MetadataInfo> Document(const Value& value) {
    MetadataInfo info;
    if (value.kind != Kind::kMap &&
        (value.kind != Kind::kObject || value.type != kMetadataInfoClass)) {
      return Wrong("answer", kMetadataInfoClass, value);
    }
    for (const auto& [key, member] : value.entries) {
      if (absl::Status status = Charge(kEntryBytes); !status.ok()) return status;
      absl::Status status;
      if (IsNamed(*key, "app")) {
        status = Text("app", *member, info.app);
      } else if (IsNamed(*key, "revision")) {
        status = Text("revision", *member, info.revision);
      } else if (IsNamed(*key, "services")) {
        status = Services(*member, info);
      }
      if (!status.ok()) return status;
    }
    return info;
  }

 private:
  absl::Status Charge(size_t bytes) {
    if (bytes > left_) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata document: larger than ", kMaxDocumentBytes, " bytes"));
    }
    left_ -= bytes;
    return absl::OkStatus();
  }

  static bool IsNamed(const Value& key, absl::string_view name) {
    return key.kind == Kind::kString && key.text == name;
  }

  // Null for what is neither text nor a number nor a boolean.
  static Json Scalar(const Value& value) {
    switch (value.kind) {
      case Kind::kBool:
        return Json(value.number != 0);
      case Kind::kInt:
      case Kind::kLong:
        return Json(value.number);
      case Kind::kDouble:
        return Json(value.real);
      case Kind::kString:
        return Json(value.text);
      default:
        return Json();
    }
  }

  // A null leaves what was there: a superclass may have the same field once more.
  absl::Status Text(absl::string_view field, const Value& value, std::string& text) {
    if (value.kind == Kind::kNull) return absl::OkStatus();
    if (absl::Status status = Charge(value.text.size()); !status.ok()) return status;
    const Json scalar = Scalar(value);
    if (scalar.is_null()) return Wrong(field, "text", value);
    text = scalar.AsText();
    return absl::OkStatus();
  }

  absl::Status Services(const Value& value, MetadataInfo& info) {
    if (value.kind == Kind::kNull) return absl::OkStatus();
    if (value.kind != Kind::kMap) return Wrong("services", "a map", value);
    for (const auto& [key, member] : value.entries) {
      // The key is any text to Dubbo; ours is always the match key.
      const std::string where = absl::StrCat("services[", Shown(key->text), "]");
      ServiceInfo service;
      if (absl::Status status = Service(where, *member, service); !status.ok()) return status;
      if (service.name.empty() || service.protocol.empty()) continue;
      // Dubbo Java drops a service without path, dubbo-go lists it under its name, as here.
      if (service.path.empty()) service.path = service.name;
      std::string match_key = service.match_key();
      info.services.insert_or_assign(std::move(match_key), std::move(service));
    }
    return absl::OkStatus();
  }

  absl::Status Service(const std::string& where, const Value& value, ServiceInfo& service) {
    if (absl::Status status = Charge(sizeof(ServiceInfo) + kParamBytes); !status.ok()) {
      return status;
    }
    if (value.kind == Kind::kNull) return absl::OkStatus();
    if (value.kind != Kind::kMap && value.kind != Kind::kObject) {
      return Wrong(where, kServiceInfoClass, value);
    }
    const std::pair<absl::string_view, std::string*> texts[] = {
        {"name", &service.name},         {"group", &service.group}, {"version", &service.version},
        {"protocol", &service.protocol}, {"path", &service.path},
    };
    for (const auto& [key, member] : value.entries) {
      if (absl::Status status = Charge(kEntryBytes); !status.ok()) return status;
      absl::Status status;
      for (const auto& [name, text] : texts) {
        if (!IsNamed(*key, name)) continue;
        status = Text(absl::StrCat(where, ".", name), *member, *text);
      }
      if (IsNamed(*key, "port")) status = Port(where + ".port", *member, service.port);
      if (IsNamed(*key, "params")) status = Params(where + ".params", *member, service.params);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  static absl::Status Port(const std::string& field, const Value& value, int32_t& port) {
    if (value.kind == Kind::kNull) return absl::OkStatus();
    const Json scalar = Scalar(value);
    if (scalar.is_null()) return Wrong(field, "a number", value);
    const int64_t number = scalar.AsInt(0);
    port = number > 0 && number <= kMaxPort ? static_cast<int32_t>(number) : 0;
    return absl::OkStatus();
  }

  absl::Status Params(const std::string& field, const Value& value,
                      std::map<std::string, std::string>& params) {
    if (value.kind == Kind::kNull) return absl::OkStatus();
    if (value.kind != Kind::kMap) return Wrong(field, "a map", value);
    for (const auto& [key, member] : value.entries) {
      if (absl::Status status = Charge(kEntryBytes); !status.ok()) return status;
      const Json name = Scalar(*key);
      if (name.is_null()) return Wrong(absl::StrCat(field, ": a key"), "text", *key);
      const Json scalar = Scalar(*member);
      if (scalar.is_null()) continue;
      absl::Status status = Charge(kParamBytes + key->text.size() + member->text.size());
      if (!status.ok()) return status;
      params[name.AsText()] = scalar.AsText();
    }
    return absl::OkStatus();
  }

  size_t left_ = kMaxDocumentBytes;
};

ValuePtr TextOrNull(const std::string& text) {
  return text.empty() ? NullValue() : StringValue(text);
}

// The names of fields, one value each for all objects of a class.
std::vector<ValuePtr> Names(std::initializer_list<const char*> names) {
  std::vector<ValuePtr> made;
  for (const char* name : names) made.push_back(StringValue(name));
  return made;
}

ValuePtr Fields(const char* type, const std::vector<ValuePtr>& names, Items values) {
  Entries fields;
  for (size_t i = 0; i < names.size(); ++i) fields.emplace_back(names[i], std::move(values[i]));
  return ObjectValue(type, std::move(fields));
}

ValuePtr ServiceInfoValue(const std::vector<ValuePtr>& names, const ServiceInfo& service) {
  Entries params;
  for (const auto& [key, value] : service.params) {
    params.emplace_back(StringValue(key), StringValue(value));
  }
  return Fields(kServiceInfoClass, names,
                {StringValue(service.name), TextOrNull(service.group), TextOrNull(service.version),
                 StringValue(service.protocol), IntValue(service.port > 0 ? service.port : -1),
                 StringValue(service.path), MapValue("", std::move(params))});
}

ValuePtr Strings(std::string type, const std::vector<std::string>& texts) {
  Items items;
  for (const std::string& text : texts) items.push_back(StringValue(text));
  return ListValue(std::move(type), std::move(items));
}

// Whether it is the method with so many parameters, all of `type`.
bool Is(const MetadataCall& call, absl::string_view method, size_t parameters,
        absl::string_view type = kString) {
  return call.method == method && call.parameter_types.size() == parameters &&
         std::all_of(call.parameter_types.begin(), call.parameter_types.end(),
                     [type](const std::string& each) { return each == type; });
}

std::string Signature(const MetadataCall& call) {
  std::string text = absl::StrCat("method ", Shown(call.method), "(");
  for (size_t i = 0; i < call.parameter_types.size(); ++i) {
    if (i == 4) {
      text += ", ...";
      break;
    }
    absl::StrAppend(&text, i == 0 ? "" : ", ", Shown(call.parameter_types[i]));
  }
  return text + ")";
}

// Strings, or nulls, which are empty here.
absl::StatusOr<std::vector<std::string>> TextArguments(const MetadataCall& call) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Value& argument = *call.arguments[i];
    if (argument.kind != Kind::kString && argument.kind != Kind::kNull) {
      return absl::InvalidArgumentError(absl::StrCat(Signature(call), ": argument ", i, " is ",
                                                     NameOf(argument.kind), ", not a string"));
    }
    texts.push_back(argument.text);
  }
  return texts;
}

absl::StatusOr<ValuePtr> AnswerWithStrings(const MetadataService& service,
                                           const MetadataCall& call) {
  absl::StatusOr<std::vector<std::string>> texts = TextArguments(call);
  if (!texts.ok()) return texts.status();
  if (Is(call, "getMetadataInfo", 1)) {
    absl::StatusOr<std::shared_ptr<const MetadataInfo>> info =
        service.GetMetadataInfo(texts->front());
    if (!info.ok()) return info.status();
    return MetadataInfoValue(**info);
  }
  if (call.method == "getExportedURLs" && texts->size() <= 4) {
    texts->resize(4);
    ExportedFilter filter{(*texts)[0], (*texts)[1], (*texts)[2], (*texts)[3]};
    return Strings("java.util.TreeSet", service.ExportedUrls(filter));
  }
  if (Is(call, "getServiceDefinition", 1) || Is(call, "getServiceDefinition", 3)) {
    return StringValue("");
  }
  return absl::UnimplementedError(absl::StrCat(kMetadataServiceV1, ": no ", Signature(call)));
}

}  // namespace

absl::StatusOr<ValuePtr> AnswerMetadataCall(const MetadataService& service,
                                            const MetadataCall& call) {
  if (call.arguments.size() != call.parameter_types.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Signature(call), ": ", call.arguments.size(), " arguments"));
  }
  if (Is(call, "serviceName", 0)) return StringValue(service.app());
  if (Is(call, "version", 0)) return StringValue(kMetadataServiceV1Version);
  if (Is(call, "getMetadataURL", 0)) return NullValue();
  if (Is(call, "getSubscribedURLs", 0)) {
    return Strings("java.util.TreeSet", service.SubscribedUrls());
  }
  if (Is(call, "getExportedServiceURLs", 0)) {
    return Strings("java.util.HashSet", service.ExportedUrls({}));
  }
  if (Is(call, "getMetadataInfos", 0)) {
    Items items;
    size_t bytes = 0;
    for (const auto& info : service.MetadataInfos()) {
      bytes += ToJson(*info).size();
      if (bytes > kMaxDocumentBytes / 4) {
        return absl::ResourceExhaustedError(
            absl::StrCat(Signature(call), ": more than ", kMaxDocumentBytes / 4, " bytes"));
      }
      items.push_back(MetadataInfoValue(*info));
    }
    return ListValue("", std::move(items));
  }
  if (Is(call, call.method, call.parameter_types.size())) return AnswerWithStrings(service, call);
  return absl::UnimplementedError(absl::StrCat(kMetadataServiceV1, ": no ", Signature(call)));
}

ValuePtr MetadataInfoValue(const MetadataInfo& info) {
  const std::vector<ValuePtr> names =
      Names({"name", "group", "version", "protocol", "port", "path", "params"});
  Entries services;
  for (const auto& [key, service] : info.services) {
    services.emplace_back(StringValue(key), ServiceInfoValue(names, service));
  }
  return Fields(
      kMetadataInfoClass, Names({"app", "revision", "services"}),
      {StringValue(info.app), StringValue(info.revision), MapValue("", std::move(services))});
}

absl::StatusOr<MetadataInfo> MetadataInfoOf(const Value& value) {
  if (value.kind == Kind::kNull) {
    return absl::NotFoundError("metadata document: null: the provider does not know the revision");
  }
  if (value.kind == Kind::kString) return MetadataInfoFromJson(value.text);
  return Conversion().Document(value);
}

}  // namespace signpost::hessian2
