// apps, instances, services, mapping, metadata, diff-metadata.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signpost/client/registry_plan.h"
#include "signpost/common/json.h"
#include "signpost/common/service_key.h"
#include "signpost/common/url.h"
#include "signpost/mapping/service_name_mapping.h"
#include "signpost/metadata/service_params.h"
#include "signpost/registry/application/offered_services.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"
#include "signpost/tools/cli/session.h"

namespace signpost::cli {
namespace {

using application_internal::OfferedService;
using application_internal::PortOf;
using application_internal::PrepareOffers;

// Looks at one centre: a note says which, where several are named.
absl::StatusOr<std::unique_ptr<Session>> OpenOne(Invocation& call) {
  auto session = Session::Open(call);
  if (session.ok() && (*session)->centres() > 1) {
    PrintLine(call.err, absl::StrCat("signpost: ", (*session)->centres(), " registries named; ",
                                     call.arguments.command, " looks only at the first: ",
                                     (*session)->client().centre().url().ToString()));
  }
  return session;
}

Json StringArray(const std::vector<std::string>& items) {
  Json array{Json::Array()};
  for (const std::string& item : items) array.Append(item);
  return array;
}

// One application, read whole: every revision in use with its document or why there is none.
struct AppView {
  std::shared_ptr<const InstanceList> list;
  std::map<std::string, std::vector<InstancePtr>> by_revision;
  std::map<std::string, absl::StatusOr<ResolvedMetadata>> documents;
};

absl::StatusOr<AppView> ReadApp(Session& session, const std::string& app) {
  auto list = session.ListInstances(app);
  if (!list.ok()) return list.status();
  AppView view;
  view.list = *std::move(list);
  view.by_revision = ByRevision(*view.list);
  for (const auto& [revision, instances] : view.by_revision) {
    view.documents.emplace(revision, session.ResolveMetadata(app, revision, instances));
  }
  return view;
}

Json ServiceJson(const ServiceInfo& service) {
  Json json;
  json.Set("name", service.name);
  if (!service.group.empty()) json.Set("group", service.group);
  if (!service.version.empty()) json.Set("version", service.version);
  json.Set("protocol", service.protocol);
  json.Set("path", service.path);
  if (service.port > 0) json.Set("port", int64_t{service.port});
  json.Set("params", JsonFromStringMap(service.params));
  return json;
}

Json ServicesJson(const MetadataInfo& info) {
  Json services{Json::Object()};
  for (const auto& [key, service] : info.services) services.Set(key, ServiceJson(service));
  return services;
}

const char* SourceName(MetadataSource source) {
  return source == MetadataSource::kService ? "service" : "report";
}

absl::Status UnknownApp(const std::string& app) {
  return absl::NotFoundError(absl::StrCat("no instance of application '", app, "'"));
}

}  // namespace

int Apps(Invocation& call) {
  auto session = OpenOne(call);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  auto names = (*session)->ListApps();
  if (!names.ok()) return Fail(call.err, "apps", names.status());
  Json apps{Json::Array()};
  Table table({"APP", "INSTANCES", "SERVICES", "REVISIONS"});
  for (const std::string& name : *names) {
    auto view = ReadApp(**session, name);
    if (!view.ok()) return Fail(call.err, name, view.status());
    std::vector<std::string> revisions;
    std::set<std::string> services;
    for (const auto& [revision, document] : view->documents) {
      revisions.push_back(revision);
      if (!document.ok()) {
        PrintLine(call.err, absl::StrCat("signpost: ", name, " ", revision, ": ",
                                         document.status().message(), " (not counted)"));
        continue;
      }
      for (const auto& [key, service] : document->info->services) {
        services.insert(service.key().ToString());
      }
    }
    Json app;
    app.Set("name", name);
    app.Set("instances", static_cast<int64_t>(view->list->instances.size()));
    app.Set("revisions", StringArray(revisions));
    app.Set("services", static_cast<int64_t>(services.size()));
    apps.Append(std::move(app));
    table.Add({name, absl::StrCat(view->list->instances.size()), absl::StrCat(services.size()),
               absl::StrJoin(revisions, " ")});
  }
  if (call.arguments.json) {
    Json document;
    document.Set("apps", std::move(apps));
    call.out << document.Print() << '\n';
  } else {
    table.Print(call.out);
  }
  return kDone;
}

int Instances(Invocation& call) {
  const std::string& app = call.arguments.positional[0];
  auto session = OpenOne(call);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  auto list = (*session)->ListInstances(app);
  if (!list.ok()) return Fail(call.err, app, list.status());
  if ((*list)->instances.empty() && (*list)->skipped.empty()) {
    return Fail(call.err, "instances", UnknownApp(app));
  }
  Json instances{Json::Array()};
  Table table({"ADDRESS", "REVISION", "METADATA", "ENDPOINTS"});
  for (const InstancePtr& instance : (*list)->instances) {
    Json json;
    json.Set("host", instance->host);
    json.Set("port", int64_t{instance->port});
    json.Set("revision", instance->revision());
    json.Set("storage", instance->storage_type());
    const MetadataServiceParams metadata_service = MetadataServiceParamsOf(*instance);
    auto weight = instance->metadata.find("weight");
    if (weight != instance->metadata.end()) json.Set("weight", Json(weight->second).AsInt(100));
    json.Set("metadata", JsonFromStringMap(instance->metadata));
    instances.Append(std::move(json));
    std::vector<std::string> endpoints;
    for (const auto& [protocol, port] : instance->endpoints()) {
      endpoints.push_back(absl::StrCat(protocol, ":", port));
    }
    table.Add({instance->id(), std::string(instance->revision()),
               absl::StrJoin({std::string(instance->storage_type()), metadata_service.ToString()},
                             metadata_service.protocol.empty() ? "" : " "),
               absl::StrJoin(endpoints, " ")});
  }
  Json skipped{Json::Array()};
  for (const SkippedInstance& one : (*list)->skipped) {
    Json json;
    json.Set("path", one.path);
    json.Set("why", one.why);
    skipped.Append(std::move(json));
  }
  if (call.arguments.json) {
    Json document;
    document.Set("app", app);
    document.Set("instances", std::move(instances));
    document.Set("skipped", std::move(skipped));
    call.out << document.Print() << '\n';
    return kDone;
  }
  table.Print(call.out);
  for (const SkippedInstance& one : (*list)->skipped) {
    PrintLine(call.out, absl::StrCat("skipped ", one.path, ": ", one.why));
  }
  return kDone;
}

int Services(Invocation& call) {
  auto session = OpenOne(call);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  std::vector<std::string> apps = call.arguments.positional;
  if (apps.empty()) {
    auto names = (*session)->ListApps();
    if (!names.ok()) return Fail(call.err, "services", names.status());
    apps = *std::move(names);
  }
  struct Row {
    std::set<std::string> apps;
    std::set<std::string> addresses;
    ServiceLevels levels;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  std::vector<std::string> notes;
  bool any_instance = false;
  for (const std::string& app : apps) {
    auto view = ReadApp(**session, app);
    if (!view.ok()) return Fail(call.err, app, view.status());
    any_instance = any_instance || !view->list->instances.empty() || !view->list->skipped.empty();
    for (const SkippedInstance& one : view->list->skipped) {
      notes.push_back(absl::StrCat("skipped ", one.path, ": ", one.why));
    }
    for (const auto& [revision, document] : view->documents) {
      if (!document.ok()) {
        notes.push_back(
            absl::StrCat(app, " revision ", revision, ": ", document.status().message()));
        continue;
      }
      // Not the instance's own port: the same addresses as the interface level has.
      const auto offers = PrepareOffers(app, revision, document->info);
      for (const auto& [name, services] : offers->by_interface) {
        for (const OfferedService& offer : services) {
          Row& row = rows[{offer.service->name, offer.service->protocol}];
          row.apps.insert(app);
          row.levels.application = true;
          for (const InstancePtr& instance : view->by_revision[revision]) {
            row.addresses.insert(JoinHostPort(instance->host, PortOf(*instance, offer)));
          }
        }
      }
    }
  }
  const InterfaceProviders providers = (*session)->ListProviders();
  for (const std::string& note : providers.notes) {
    notes.push_back(absl::StrCat("interface level: ", note));
  }
  for (const Url& provider : providers.urls) {
    const std::string app(provider.Get("application"));
    if (!call.arguments.positional.empty() && app != apps[0]) continue;
    any_instance = true;
    Row& row = rows[{ServiceKey::Of(provider).ToString(), provider.protocol()}];
    if (!app.empty()) row.apps.insert(app);
    row.levels.interface = true;
    row.addresses.insert(provider.address());
  }
  if (!call.arguments.positional.empty() && !any_instance) {
    return Fail(call.err, "services", UnknownApp(apps[0]));
  }
  Json services{Json::Array()};
  Table table({"SERVICE", "PROTOCOL", "APPS", "ADDRESSES", "LEVEL"});
  for (const auto& [key, row] : rows) {
    const std::vector<std::string> names(row.apps.begin(), row.apps.end());
    Json json;
    json.Set("service", key.first);
    json.Set("protocol", key.second);
    json.Set("apps", StringArray(names));
    json.Set("addresses", static_cast<int64_t>(row.addresses.size()));
    const std::string level =
        row.levels.both() ? "both" : (row.levels.interface ? "interface" : "application");
    json.Set("level", level);
    services.Append(std::move(json));
    table.Add({key.first, key.second, absl::StrJoin(names, ","), absl::StrCat(row.addresses.size()),
               level});
  }
  if (call.arguments.json) {
    Json document;
    document.Set("services", std::move(services));
    document.Set("notes", StringArray(notes));
    call.out << document.Print() << '\n';
    return kDone;
  }
  table.Print(call.out);
  for (const std::string& note : notes) PrintLine(call.out, absl::StrCat("note: ", note));
  return kDone;
}

int Mapping(Invocation& call) {
  const std::string& interface_name = call.arguments.positional[0];
  auto session = OpenOne(call);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  auto text = (*session)->GetMapping(interface_name);
  if (!text.ok()) return Fail(call.err, interface_name, text.status());
  const AppSet apps = ParseMappingText(text->text);
  if (call.arguments.json) {
    Json document;
    document.Set("interface", interface_name);
    document.Set("apps", StringArray({apps.begin(), apps.end()}));
    document.Set("version", absl::StrCat(text->version));
    call.out << document.Print() << '\n';
  } else {
    for (const std::string& app : apps) PrintLine(call.out, app);
  }
  return kDone;
}

int Metadata(Invocation& call) {
  const std::string& app = call.arguments.positional[0];
  auto session = OpenOne(call);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  std::vector<std::pair<MetadataInfo, std::string>> found;
  if (call.arguments.positional.size() > 1) {
    const std::string& revision = call.arguments.positional[1];
    auto info = (*session)->ReadDocument(app, revision);
    if (!info.ok()) return Fail(call.err, absl::StrCat(app, " ", revision), info.status());
    info->revision = revision;
    found.emplace_back(*std::move(info), "report");
  } else {
    auto view = ReadApp(**session, app);
    if (!view.ok()) return Fail(call.err, app, view.status());
    if (view->list->instances.empty()) return Fail(call.err, "metadata", UnknownApp(app));
    absl::Status last;
    for (const auto& [revision, document] : view->documents) {
      if (!document.ok()) {
        PrintLine(call.err, absl::StrCat("signpost: ", app, " ", revision, ": ",
                                         document.status().message()));
        last = document.status();
        continue;
      }
      MetadataInfo info = *document->info;
      info.revision = revision;
      found.emplace_back(std::move(info), SourceName(document->source));
    }
    if (found.empty() && !last.ok()) return Fail(call.err, app, last);
  }
  Json revisions{Json::Array()};
  for (const auto& [info, source] : found) {
    Json json;
    json.Set("revision", info.revision);
    json.Set("source", source);
    json.Set("services", ServicesJson(info));
    revisions.Append(std::move(json));
  }
  if (call.arguments.json) {
    Json document;
    document.Set("app", app);
    document.Set("revisions", std::move(revisions));
    call.out << document.Print() << '\n';
    return kDone;
  }
  for (const auto& [info, source] : found) {
    PrintLine(call.out, absl::StrCat("revision ", info.revision, " (", source, ")"));
    for (const auto& [key, service] : info.services) {
      PrintLine(call.out, absl::StrCat("  ", key));
      if (service.port > 0) PrintLine(call.out, absl::StrCat("    port ", service.port));
      for (const auto& [name, value] : service.params) {
        PrintLine(call.out, absl::StrCat("    ", name, " = ", value));
      }
    }
  }
  return kDone;
}

int DiffMetadata(Invocation& call) {
  const std::string& app = call.arguments.positional[0];
  auto session = OpenOne(call);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  MetadataInfo documents[2];
  for (int i = 0; i < 2; ++i) {
    const std::string& revision = call.arguments.positional[i + 1];
    auto info = (*session)->ReadDocument(app, revision);
    if (!info.ok()) return Fail(call.err, absl::StrCat(app, " ", revision), info.status());
    documents[i] = *std::move(info);
  }
  const auto& before = documents[0].services;
  const auto& after = documents[1].services;
  std::vector<std::string> added, removed, changed;
  for (const auto& [key, service] : after) {
    auto old = before.find(key);
    if (old == before.end()) {
      added.push_back(key);
    } else if (!(old->second == service)) {
      changed.push_back(key);
    }
  }
  for (const auto& [key, service] : before) {
    if (after.count(key) == 0) removed.push_back(key);
  }
  if (call.arguments.json) {
    Json document;
    document.Set("added", StringArray(added));
    document.Set("removed", StringArray(removed));
    document.Set("changed", StringArray(changed));
    call.out << document.Print() << '\n';
    return kDone;
  }
  for (const std::string& key : added) PrintLine(call.out, absl::StrCat("+ ", key));
  for (const std::string& key : removed) PrintLine(call.out, absl::StrCat("- ", key));
  for (const std::string& key : changed) {
    PrintLine(call.out, absl::StrCat("~ ", key));
    if (before.at(key).port != after.at(key).port) {
      PrintLine(call.out,
                absl::StrCat("    ~ port: ", before.at(key).port, " -> ", after.at(key).port));
    }
    if (before.at(key).path != after.at(key).path) {
      PrintLine(call.out,
                absl::StrCat("    ~ path: ", before.at(key).path, " -> ", after.at(key).path));
    }
    const auto& old_params = before.at(key).params;
    const auto& new_params = after.at(key).params;
    for (const auto& [name, value] : new_params) {
      auto old = old_params.find(name);
      if (old == old_params.end()) {
        PrintLine(call.out, absl::StrCat("    + ", name, " = ", value));
      } else if (old->second != value) {
        PrintLine(call.out, absl::StrCat("    ~ ", name, ": ", old->second, " -> ", value));
      }
    }
    for (const auto& [name, value] : old_params) {
      if (new_params.count(name) == 0)
        PrintLine(call.out, absl::StrCat("    - ", name, " = ", value));
    }
  }
  return kDone;
}

}  // namespace signpost::cli
