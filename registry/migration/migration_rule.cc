#include "signpost/registry/migration/migration_rule.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/common/near_miss.h"
#include "signpost/common/status.h"
#include "signpost/common/yaml.h"

namespace signpost {
namespace {

constexpr MigrationStep kSteps[] = {MigrationStep::kForceInterface,
                                    MigrationStep::kApplicationFirst,
                                    MigrationStep::kForceApplication};

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)), "'");
}

absl::Status IsNot(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not ", what));
}

constexpr char kThresholds[] = "a number >= 0, nor -1";
constexpr char kProportions[] = "a whole number from 0 to 100";
constexpr char kDelays[] = "a whole number of seconds >= 0";
// As wide as Java's.
constexpr absl::Duration kMaxDelay = absl::Seconds(std::numeric_limits<int32_t>::max());

bool IsThreshold(double value) { return std::isfinite(value) && (value >= 0 || value == -1); }
bool IsProportion(int value) { return value >= 0 && value <= 100; }

absl::StatusOr<double> ParseThreshold(absl::string_view text) {
  double value = 0;
  // Not the hexadecimal numbers that SimpleAtod takes.
  const bool valid = text.find_first_of("xX") == absl::string_view::npos &&
                     absl::SimpleAtod(text, &value) && IsThreshold(value);
  if (!valid) return IsNot(text, kThresholds);
  return value;
}

absl::StatusOr<int> ParseProportion(absl::string_view text) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || !IsProportion(value)) return IsNot(text, kProportions);
  return value;
}

absl::StatusOr<absl::Duration> ParseDelay(absl::string_view text) {
  int32_t seconds = 0;
  if (!absl::SimpleAtoi(text, &seconds) || seconds < 0) return IsNot(text, kDelays);
  return absl::Seconds(seconds);
}

absl::StatusOr<bool> ParseForce(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return IsNot(text, "true or false");
}

template <typename T>
absl::Status Keep(absl::StatusOr<T> value, absl::string_view where, std::optional<T>& field) {
  if (!value.ok()) return Annotate(value.status(), where);
  field = *std::move(value);
  return absl::OkStatus();
}

// Those of the top level, or of an entry.
const std::vector<absl::string_view>& KnownKeys(bool entry) {
  static const auto* const top = new std::vector<absl::string_view>{
      "key", "step", "threshold", "proportion", "delay", "force", "interfaces", "applications"};
  static const auto* const of_entry = new std::vector<absl::string_view>{
      "serviceKey", "step", "threshold", "proportion", "delay", "force"};
  return entry ? *of_entry : *top;
}

// `text_of(key)` gives what stands at `key`, nothing if nothing does.
template <typename TextOf>
absl::StatusOr<MigrationFields> ReadFields(const TextOf& text_of, absl::string_view prefix,
                                           absl::string_view proportion_key) {
  MigrationFields fields;
  absl::Status status;
  const auto read = [&](absl::string_view name, auto parse, auto& field) {
    if (!status.ok()) return;
    const std::string key = absl::StrCat(prefix, name);
    absl::StatusOr<std::optional<std::string>> text = text_of(key);
    if (!text.ok()) {
      status = Annotate(text.status(), key);
    } else if (text->has_value()) {
      status = Keep(parse(**text), key, field);
    }
  };
  read("step", ParseMigrationStep, fields.step);
  read("threshold", ParseThreshold, fields.threshold);
  read(proportion_key, ParseProportion, fields.proportion);
  read("delay", ParseDelay, fields.delay);
  read("force", ParseForce, fields.force);
  if (!status.ok()) return status;
  return fields;
}

absl::StatusOr<MigrationFields> FieldsOf(const Json& object) {
  const auto text_of =
      [&object](const std::string& key) -> absl::StatusOr<std::optional<std::string>> {
    const Json& value = object[key];
    if (value.is_null()) return std::nullopt;
    if (value.is_array() || value.is_object()) {
      return absl::InvalidArgumentError("a list or a mapping, not a value");
    }
    return value.AsText();
  };
  return ReadFields(text_of, "", "proportion");
}

absl::Status ReadEntries(const Json& rule, absl::string_view name,
                         std::map<std::string, MigrationFields>& entries,
                         std::vector<std::string>* unknown) {
  const Json& list = rule[name];
  if (list.is_null()) return absl::OkStatus();
  if (!list.is_array()) return absl::InvalidArgumentError(absl::StrCat(name, ": not a list"));
  size_t index = 0;
  for (const Json& entry : list.AsArray()) {
    std::string where = absl::StrCat(name, "[", index++, "]");
    if (!entry.is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": not a mapping"));
    }
    absl::Status keys = CheckKeys(entry, where, KnownKeys(/*entry=*/true), unknown);
    if (!keys.ok()) return keys;
    if (entry["serviceKey"].is_bool()) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": serviceKey: true or false, as YAML reads it without quotes; not a text"));
    }
    const std::string key(absl::StripAsciiWhitespace(entry["serviceKey"].AsText()));
    if (key.empty()) return absl::InvalidArgumentError(absl::StrCat(where, ": no serviceKey"));
    absl::StrAppend(&where, " (", absl::CHexEscape(key.substr(0, 100)), ")");
    absl::StatusOr<MigrationFields> fields = FieldsOf(entry);
    if (!fields.ok()) return Annotate(fields.status(), where);
    entries[key] = *std::move(fields);
  }
  return absl::OkStatus();
}

using Places = std::vector<const MigrationFields*>;

template <typename T>
T First(const Places& places, std::optional<T> MigrationFields::*field, T fallback) {
  for (const MigrationFields* place : places) {
    if ((place->*field).has_value()) return *(place->*field);
  }
  return fallback;
}

}  // namespace

absl::string_view MigrationStepName(MigrationStep step) {
  switch (step) {
    case MigrationStep::kForceInterface:
      return "FORCE_INTERFACE";
    case MigrationStep::kApplicationFirst:
      return "APPLICATION_FIRST";
    case MigrationStep::kForceApplication:
      return "FORCE_APPLICATION";
  }
  return "";
}

absl::StatusOr<MigrationStep> ParseMigrationStep(absl::string_view name) {
  std::string valid;
  for (MigrationStep step : kSteps) {
    if (name == MigrationStepName(step)) return step;
    absl::StrAppend(&valid, valid.empty() ? "" : ", ", MigrationStepName(step));
  }
  return IsNot(name, absl::StrCat("one of ", valid));
}

absl::StatusOr<MigrationFields> MigrationFields::OfUrl(const Url& consumer) {
  const auto text_of =
      [&consumer](const std::string& key) -> absl::StatusOr<std::optional<std::string>> {
    const absl::string_view value = consumer.Get(key);
    if (value.empty()) return std::nullopt;
    return std::string(value);
  };
  return ReadFields(text_of, "migration.", "promotion");
}

absl::Status MigrationFields::Check() const {
  const auto fault = [](absl::string_view field, absl::string_view value, absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("migration.", field, ": ", value, " is not ", what));
  };
  if (step && MigrationStepName(*step).empty()) {
    return fault("step", absl::StrCat(static_cast<int>(*step)), "a step");
  }
  if (threshold && !IsThreshold(*threshold)) {
    return fault("threshold", absl::StrCat(*threshold), kThresholds);
  }
  if (proportion && !IsProportion(*proportion)) {
    return fault("proportion", absl::StrCat(*proportion), kProportions);
  }
  if (delay && (*delay < absl::ZeroDuration() || *delay > kMaxDelay ||
                *delay % absl::Seconds(1) != absl::ZeroDuration())) {
    return fault("delay", absl::FormatDuration(*delay), kDelays);
  }
  return absl::OkStatus();
}

MigrationSettings MigrationFields::Over(const MigrationSettings& defaults) const {
  MigrationSettings settings;
  settings.step = step.value_or(defaults.step);
  settings.threshold = threshold.value_or(defaults.threshold);
  if (settings.threshold < 0) settings.threshold = defaults.threshold;
  settings.proportion = proportion.value_or(defaults.proportion);
  settings.delay = delay.value_or(defaults.delay);
  settings.force = force.value_or(defaults.force);
  return settings;
}

absl::StatusOr<MigrationRule> MigrationRule::Parse(absl::string_view text,
                                                   std::vector<std::string>* unknown) {
  YamlLimits limits;
  // As an operator wrote it: "0x10" is no proportion.
  limits.plain_is_text = true;
  // `force: yes`.
  limits.yaml_1_1_booleans = true;
  absl::StatusOr<std::vector<Json>> documents = ParseYaml(text, limits);
  if (!documents.ok()) return documents.status();
  if (documents->size() > 1) return absl::InvalidArgumentError("more than one YAML document");
  MigrationRule rule;
  if (documents->empty() || documents->front().is_null()) return rule;
  const Json& root = documents->front();
  if (!root.is_object()) return absl::InvalidArgumentError("not a YAML mapping");
  absl::Status status = CheckKeys(root, "", KnownKeys(/*entry=*/false), unknown);
  if (!status.ok()) return status;
  absl::StatusOr<MigrationFields> fields = FieldsOf(root);
  if (!fields.ok()) return fields.status();
  rule.fields = *std::move(fields);
  status = ReadEntries(root, "interfaces", rule.interfaces, unknown);
  if (status.ok()) status = ReadEntries(root, "applications", rule.applications, unknown);
  if (!status.ok()) return status;
  return rule;
}

MigrationSettings MigrationRule::SettingsFor(const ServiceKey& service,
                                             const std::vector<std::string>& provider_apps,
                                             const MigrationFields& url,
                                             const MigrationOptions& options) const {
  Places places;
  const auto add = [&places](const std::map<std::string, MigrationFields>& entries,
                             const std::string& key) {
    const auto found = entries.find(key);
    if (found != entries.end()) places.push_back(&found->second);
  };
  add(interfaces, service.ToDisplayString());
  for (const std::string& app : provider_apps) add(applications, app);
  places.push_back(&fields);
  places.push_back(&url);

  MigrationSettings settings;
  settings.step = First(places, &MigrationFields::step, options.step);
  settings.threshold = First(places, &MigrationFields::threshold, options.threshold);
  // The first place that has a threshold decides, even by saying "not set".
  if (settings.threshold < 0) settings.threshold = options.threshold;
  settings.proportion = First(places, &MigrationFields::proportion, options.proportion);
  settings.delay = First(places, &MigrationFields::delay, options.delay);
  settings.force = First(places, &MigrationFields::force, options.force);
  return settings;
}

}  // namespace signpost
