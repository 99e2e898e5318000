// Provider side: the URLs that one application exports -> one MetadataInfo and what its instance
// must say. Values only; when to build (the debounce) and where to write is the registry's.
//
// Threads: one at a time.
#ifndef SIGNPOST_METADATA_METADATA_COLLECTOR_H_
#define SIGNPOST_METADATA_METADATA_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/url.h"
#include "signpost/metadata/metadata_info.h"

namespace signpost {

// All that follows from a set of exported URLs.
struct CollectedMetadata {
  MetadataInfo info;  // with its revision, `0` when nothing is exported
  // For the instance's metadata: timestamp, heartbeat.timeout, ipv6. The earliest timestamp, else
  // the value of the first URL that has one.
  std::map<std::string, std::string> instance_parameters;
  // For dubbo.endpoints: one (protocol, port) per protocol, in order of first export.
  std::vector<std::pair<std::string, uint16_t>> endpoints;
  std::set<std::string> interfaces;  // whose mapping must name the application
  std::string host;                  // of the first URL, IPv6 without brackets; empty without URLs
  // For people: what peers may take amiss.
  std::vector<std::string> warnings;
};

class MetadataCollector {
 public:
  explicit MetadataCollector(std::string app);

  // Exports `provider`; no change if an equal URL is there. Of two URLs for one (service, protocol)
  // the first counts until it is removed; if their addresses differ, that is warned of.
  // kInvalidArgument: no protocol, host, port or interface.
  absl::Status Add(const Url& provider);
  // False: it was not there.
  bool Remove(const Url& provider);
  void Clear();

  // Whether something has changed since the last Build; true before the first one.
  bool dirty() const { return dirty_; }
  size_t size() const { return urls_.size(); }
  const std::string& app() const { return app_; }
  const std::vector<Url>& urls() const { return urls_; }

  // Clears dirty(). The revision does not depend on the order of exports, nor on pid, times or
  // addresses. Parameters that only repeat what the document says elsewhere (interface,
  // side, group, version, path, dubbo=2.0.2) are left out; application is filled in where the URL
  // has none.
  //
  // Two ports for one protocol: each service keeps its port in the document, but dubbo.endpoints
  // has room for one, the first; dubbo-go looks only there. Named in `warnings`.
  CollectedMetadata Build();

 private:
  std::string app_;
  std::vector<Url> urls_;  // in order of export
  bool dirty_ = true;
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_METADATA_COLLECTOR_H_
