// A registry of one's own: a file of hosts, for a site that has no registry centre. It is read
// once.
//   custom_registry FILE INTERFACE     prints where INTERFACE is
// Each line of FILE is an application, one service of it, and where that runs:
//   APPLICATION PROTOCOL INTERFACE HOST:PORT...
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/common/service_instance.h"
#include "signpost/metadata/metadata_info.h"
#include "signpost/metadata/revision.h"
#include "signpost/registry/store/local_centre.h"
#include "signpost/registry/store/store_centre.h"

namespace {

using Keys = std::map<std::string, std::string>;

// Adds what Dubbo's layout of keys has for one line: a document that says what the application
// offers, an instance for each host that names it, and the way from the interface to there.
absl::Status AddLine(const std::string& line, const signpost::StoreLayout& layout, Keys& keys) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
  if (words.empty()) return absl::OkStatus();
  if (words.size() < 4) {
    return absl::InvalidArgumentError("expected APPLICATION PROTOCOL INTERFACE HOST:PORT...");
  }
  signpost::MetadataInfo info;
  info.app = words[0];
  signpost::ServiceInfo service;
  service.protocol = words[1];
  service.name = service.path = words[2];
  info.services[service.match_key()] = service;
  info.revision = signpost::ComputeRevision(info);
  keys[absl::StrCat(layout.metadata_java, "/", info.app, "/", info.revision)] = ToJson(info);

  std::string& apps = keys[absl::StrCat(layout.mapping, "/", service.name)];
  absl::StrAppend(&apps, apps.empty() ? "" : ",", info.app);

  for (size_t i = 3; i < words.size(); ++i) {
    auto address = signpost::SplitHostPort(words[i]);
    if (!address.has_value()) return absl::InvalidArgumentError(words[i] + " is no HOST:PORT");
    signpost::ServiceInstance instance;
    instance.app = info.app;
    instance.host = signpost::UnbracketHost(address->first);
    instance.port = address->second;
    instance.metadata[signpost::kRevisionKey] = info.revision;
    instance.metadata[signpost::kStorageTypeKey] = "remote";
    instance.SetEndpoints({{service.protocol, instance.port}});
    absl::Status status = instance.Validate();
    if (!status.ok()) return status;
    const std::string key = absl::StrCat(layout.instances, "/", info.app, "/", instance.id());
    if (!keys.emplace(key, ToCuratorJson(instance)).second) {
      return absl::AlreadyExistsError(absl::StrCat(info.app, " has ", words[i], " twice"));
    }
  }
  return absl::OkStatus();
}

// The factory of `hosts:///path`. A LocalCentre has all that a Store must do (sessions, watches,
// the thread of callbacks), so only the keys are ours; a centre that is a server elsewhere would
// implement registry/store/store.h instead.
absl::StatusOr<std::unique_ptr<signpost::RegistryCentre>> OpenHosts(
    const signpost::Url& url, const signpost::CentreOptions& options) {
  const std::string path = "/" + url.path();
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(path + ": cannot be read");
  Keys keys;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    absl::Status status = AddLine(line, signpost::StoreLayout::FromUrl(url), keys);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(path, ":", number, ": ", status.message()));
    }
  }
  std::vector<signpost::KeyValue::Change> changes;
  for (auto& [key, value] : keys) {
    changes.push_back({key, signpost::KeyValue::Record{std::move(value), 1}});
  }
  auto data = std::make_unique<signpost::MapKeyValue>();
  absl::Status written = data->Write(changes, 1);
  if (!written.ok()) return written;
  signpost::LocalCentre::Options centre;
  centre.name = url.ToString();
  centre.frozen = absl::PermissionDeniedError(path + ": only the file's owner writes it");
  return signpost::NewStoreCentre(url, options.executor,
                                  signpost::NewLocalStore(std::make_shared<signpost::LocalCentre>(
                                                              std::move(data), std::move(centre)),
                                                          options.executor));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: custom_registry FILE INTERFACE\n";
    return 2;
  }
  signpost::RegistryFactories registries("registry");
  absl::Status status = registries.Add("hosts", OpenHosts);
  signpost::ClientOptions options;
  options.registry = absl::StrCat("hosts://", std::filesystem::absolute(argv[1]).string(),
                                  "?registry-type=service");
  auto client = signpost::Client::Create(options, registries);
  if (status.ok()) status = client.status();
  if (status.ok()) {
    auto directory = (*client)->consumer().Refer(argv[2]);
    status = directory.ok() ? (*directory)->WaitReady(absl::Seconds(2)) : directory.status();
    if (status.ok()) {
      (*directory)->addresses()->ForEach([](const signpost::Endpoint& endpoint) {
        std::cout << endpoint->service->protocol << "://" << endpoint.address() << "\n";
      });
    }
  }
  if (!status.ok()) {
    std::cerr << "custom_registry: " << status.ToString() << "\n";
    return 1;
  }
  return 0;
}
