#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "signpost/common/json.h"
#include "signpost/common/near_miss.h"
#include "signpost/common/service_key.h"
#include "signpost/common/status.h"
#include "signpost/common/yaml.h"
#include "signpost/router/configurator/configurator.h"
#include "signpost/router/configurator/configurator_item.h"

namespace signpost {
namespace {

using configurator_internal::CostOf;
using configurator_internal::Item;
using configurator_internal::Quoted;
using configurator_internal::RegexUse;

// What applying a rule to one URL may take, and comparing it with another rule. Enough for a rule
// of 1 MiB that is full of addresses.
constexpr size_t kMaxCost = 200000;

const std::vector<absl::string_view>& HeadKeys() {
  static const auto* const keys =
      new std::vector<absl::string_view>{"configVersion", "scope", "key", "enabled", "configs"};
  return *keys;
}

const std::vector<absl::string_view>& ItemKeys() {
  static const auto* const keys = new std::vector<absl::string_view>{
      "side", "addresses", "providerAddresses", "applications", "services", "match", "parameters",
      "type", "enabled"};
  return *keys;
}

absl::Status Fault(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// What all items of a rule have in common.
struct Rule {
  bool enabled = true;
  bool with_match = false;  // configVersion v3
  bool for_application = false;
  std::string key;
};

// Also as a text that is quoted.
absl::StatusOr<bool> ParseBool(const Json& json, absl::string_view where, bool fallback) {
  if (json.is_null()) return fallback;
  if (json.is_bool()) return json.AsBool();
  for (absl::string_view word : {"true", "yes", "on"}) {
    if (absl::EqualsIgnoreCase(json.AsString(), word)) return true;
  }
  for (absl::string_view word : {"false", "no", "off"}) {
    if (absl::EqualsIgnoreCase(json.AsString(), word)) return false;
  }
  return Fault(where, "neither true nor false");
}

absl::string_view NotText(const Json& json) {
  return json.is_bool() ? "true or false, as YAML reads it without quotes; not a text"
                        : "not a text";
}

// "" when absent.
absl::StatusOr<std::string> ParseText(const Json& json, absl::string_view where) {
  if (json.is_null()) return std::string();
  if (!json.is_string()) return Fault(where, NotText(json));
  return json.AsString();
}

// Empty when absent.
absl::StatusOr<std::vector<std::string>> ParseList(const Json& json, absl::string_view where) {
  std::vector<std::string> list;
  if (json.is_null()) return list;
  if (!json.is_array()) return Fault(where, "not a list");
  for (const Json& one : json.AsArray()) {
    const absl::string_view text = absl::StripAsciiWhitespace(one.AsString());
    if (text.empty()) {
      return Fault(absl::StrCat(where, "[", list.size(), "]"),
                   one.is_bool() ? NotText(one) : "empty, or not a text");
    }
    list.emplace_back(text);
  }
  return list;
}

absl::StatusOr<std::string> ParseServiceKey(absl::string_view text, absl::string_view where) {
  const absl::StatusOr<ServiceKey> key = ServiceKey::Parse(text);
  if (!key.ok()) return Annotate(key.status(), where);
  return key->ToString();
}

absl::StatusOr<Rule> ParseHead(const Json& json) {
  if (!json.is_object()) return Fault("rule", "neither a map nor a list of URLs");
  Rule rule;
  absl::StatusOr<bool> enabled = ParseBool(json["enabled"], "enabled", true);
  if (!enabled.ok()) return enabled.status();
  rule.enabled = *enabled;

  absl::StatusOr<std::string> version = ParseText(json["configVersion"], "configVersion");
  if (!version.ok()) return version.status();
  absl::string_view number = *version;
  absl::ConsumePrefix(&number, "v");
  rule.with_match = absl::StartsWith(number, "3.") || number == "3";
  const bool old = number.empty() || absl::StartsWith(number, "2.") || number == "2";
  if (!rule.with_match && !old) {
    return Fault("configVersion", absl::StrCat("neither v2 nor v3: ", Quoted(*version)));
  }

  absl::StatusOr<std::string> scope = ParseText(json["scope"], "scope");
  if (!scope.ok()) return scope.status();
  rule.for_application = *scope == "application";
  if (!scope->empty() && *scope != "service" && *scope != "application") {
    return Fault("scope", absl::StrCat("neither service nor application: ", Quoted(*scope)));
  }
  absl::StatusOr<std::string> key = ParseText(json["key"], "key");
  if (key.ok() && key->empty()) key = Fault("key", "missing");
  if (key.ok() && !rule.for_application) key = ParseServiceKey(*key, "key");
  if (!key.ok()) return key.status();
  rule.key = *std::move(key);
  return rule;
}

// Whether the item counts. Of a general one the rule's own word says so.
absl::StatusOr<bool> ParseEnabled(const Json& json, const Rule& rule, absl::string_view where) {
  absl::StatusOr<std::string> type = ParseText(json["type"], absl::StrCat(where, ".type"));
  if (!type.ok()) return type.status();
  if (type->empty() || *type == "general") return rule.enabled;
  return ParseBool(json["enabled"], absl::StrCat(where, ".enabled"), false);
}

absl::Status ParseParameters(const Json& json, const std::string& where, Item& item) {
  if (!json.is_null() && !json.is_object()) return Fault(where, "not a map");
  Url::Parameters parameters;
  for (const auto& [key, value] : json.AsObject()) {
    if (!value.is_string() && !value.is_bool()) {
      return Fault(absl::StrCat(where, ".", key), "no value, or no text");
    }
    parameters[key] = value.AsText();
  }
  if (parameters.empty()) return Fault(where, "at least one is needed");
  return configurator_internal::SetParameters(parameters, absl::StrCat(where, "."), item);
}

absl::Status ParseScope(const Json& json, const Rule& rule, const std::string& where, Item& item) {
  if (!rule.for_application) {
    absl::StatusOr<std::vector<std::string>> apps =
        ParseList(json["applications"], absl::StrCat(where, ".applications"));
    if (!apps.ok()) return apps.status();
    item.applications = *std::move(apps);
    item.services.push_back(rule.key);
    return absl::OkStatus();
  }
  item.scope_application = rule.key;
  const std::string place = absl::StrCat(where, ".services");
  absl::StatusOr<std::vector<std::string>> services = ParseList(json["services"], place);
  if (!services.ok()) return services.status();
  for (const std::string& service : *services) {
    absl::StatusOr<std::string> key =
        ParseServiceKey(service, absl::StrCat(place, "[", item.services.size(), "]"));
    if (!key.ok()) return key.status();
    item.services.push_back(*std::move(key));
  }
  if (item.services.empty()) item.services.emplace_back("*");
  return absl::OkStatus();
}

absl::Status ParseMatch(const Json& json, const Rule& rule, const std::string& where, RegexUse& use,
                        Item& item) {
  if (json.is_null()) return absl::OkStatus();
  // Java leaves the match out, and the rule then acts on everything.
  if (!rule.with_match) return Fault(where, "needs configVersion v3.0");
  absl::StatusOr<configurator_internal::ConfiguratorMatch> match =
      configurator_internal::ConfiguratorMatch::Parse(json, where, use);
  if (!match.ok()) return match.status();
  item.match = *std::move(match);
  return absl::OkStatus();
}

// All that may be looked at once for each address.
size_t CostOfItem(const Item& item) {
  size_t cost = item.match.cost();
  for (const auto* list : {&item.provider_addresses, &item.applications, &item.services}) {
    for (const std::string& text : *list) cost += CostOf(text.size());
  }
  for (const auto* map : {&item.conditions, &item.parameters}) {
    for (const auto& [key, value] : *map) cost += CostOf(key.size() + value.size());
  }
  return cost;
}

absl::Status ParseItem(const Json& json, const Rule& rule, const std::string& where, RegexUse& use,
                       Item& item, std::vector<std::string>& addresses) {
  absl::StatusOr<std::string> side = ParseText(json["side"], absl::StrCat(where, ".side"));
  absl::Status status =
      side.ok() ? configurator_internal::ParseSide(*side, absl::StrCat(where, ".side"), item)
                : side.status();
  if (status.ok()) status = ParseScope(json, rule, where, item);
  if (status.ok()) {
    status = ParseMatch(json["match"], rule, absl::StrCat(where, ".match"), use, item);
  }
  if (status.ok()) {
    status = ParseParameters(json["parameters"], absl::StrCat(where, ".parameters"), item);
  }
  if (!status.ok()) return status;
  auto list = ParseList(json["addresses"], absl::StrCat(where, ".addresses"));
  if (!list.ok()) return list.status();
  addresses = *std::move(list);
  if (addresses.empty()) addresses.emplace_back("0.0.0.0");
  list = ParseList(json["providerAddresses"], absl::StrCat(where, ".providerAddresses"));
  if (!list.ok()) return list.status();
  item.provider_addresses = *std::move(list);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Configurator>> ParseUrls(absl::string_view text) {
  const absl::StatusOr<Json> json = Json::Parse(text, Json::Limits{YamlLimits().max_bytes});
  if (!json.ok()) return json.status();
  std::vector<Configurator> configurators;
  size_t index = 0;
  for (const Json& one : json->AsArray()) {
    const std::string where = absl::StrCat("[", index++, "]");
    if (!one.is_string()) return Fault(where, "not a text");
    const absl::StatusOr<Url> url = Url::Parse(one.AsString());
    if (!url.ok()) return Annotate(url.status(), where);
    if (url->protocol() == "empty") return std::vector<Configurator>();
    absl::StatusOr<Configurator> configurator = Configurator::FromUrl(*url);
    if (!configurator.ok()) return Annotate(configurator.status(), where);
    if (configurator->active()) configurators.push_back(*std::move(configurator));
  }
  return configurators;
}

}  // namespace

absl::StatusOr<std::vector<Configurator>> ParseConfiguratorRule(absl::string_view text,
                                                                std::vector<std::string>* unknown) {
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "[")) return ParseUrls(text);
  YamlLimits limits;
  limits.plain_is_text = true;
  limits.yaml_1_1_booleans = true;
  const absl::StatusOr<std::vector<Json>> documents = ParseYaml(text, limits);
  if (!documents.ok()) return documents.status();
  std::vector<Configurator> configurators;
  // All of it commented out.
  if (documents->empty() || (documents->size() == 1 && documents->front().is_null())) {
    return configurators;
  }
  if (documents->size() > 1) return Fault("rule", "more than one document");
  const Json& json = documents->front();
  const absl::StatusOr<Rule> rule = ParseHead(json);
  if (!rule.ok()) return rule.status();
  if (rule->enabled) {
    absl::Status keys = CheckKeys(json, "", HeadKeys(), unknown);
    if (!keys.ok()) return keys;
  }
  const Json& items = json["configs"];
  if (items.is_null() && !rule->enabled) return configurators;
  if (!items.is_array()) return Fault("configs", "missing, or not a list");

  size_t cost = 0;
  RegexUse use;
  for (size_t i = 0; i < items.AsArray().size(); ++i) {
    const Json& one = items.AsArray()[i];
    const std::string where = absl::StrCat("configs[", i, "]");
    if (!one.is_object()) return Fault(where, "not a map");
    const absl::StatusOr<bool> enabled = ParseEnabled(one, *rule, where);
    if (!enabled.ok()) return enabled.status();
    // Off because the text says so, and not for want of an `enabled` that is spelt `enable`.
    if (!*enabled && (!rule->enabled || !one["enabled"].is_null())) continue;
    absl::Status keys = CheckKeys(one, where, ItemKeys(), unknown);
    if (!keys.ok()) return keys;
    if (!*enabled) continue;
    auto item = std::make_shared<Item>();
    std::vector<std::string> addresses;
    if (absl::Status status = ParseItem(one, *rule, where, use, *item, addresses); !status.ok()) {
      return status;
    }
    cost += addresses.size() * CostOfItem(*item);
    if (cost > kMaxCost) {
      return Fault(absl::StrCat(where, ".addresses"),
                   absl::StrCat("each with all that the item says: the rule would take more than ",
                                kMaxCost, " comparisons"));
    }
    for (std::string& address : addresses) {
      Configurator configurator(item, std::move(address));
      if (configurator.active()) configurators.push_back(std::move(configurator));
    }
  }
  return configurators;
}

}  // namespace signpost
