// Port: what a process says about itself when it is asked (Dubbo's MetadataService). Servers of the
// protocols in the folders below serve it; it is never registered itself.
//
// Threads: all methods from any thread.
// Errors: kNotFound: a revision that this process does not know (never an empty document: Java
//   would keep that for good).
#ifndef SIGNPOST_METADATA_METADATA_SERVICE_H_
#define SIGNPOST_METADATA_METADATA_SERVICE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/metadata/metadata_info.h"

namespace signpost {

// What an exported URL must have; an empty field, or `*` as interface, matches all.
struct ExportedFilter {
  std::string interface_name;
  std::string group;
  std::string version;
  std::string protocol;
};

class MetadataService {
 public:
  virtual ~MetadataService() = default;

  virtual const std::string& app() const = 0;
  // Full URLs, sorted.
  virtual std::vector<std::string> ExportedUrls(const ExportedFilter& filter) const = 0;
  virtual std::vector<std::string> SubscribedUrls() const = 0;
  virtual absl::StatusOr<std::shared_ptr<const MetadataInfo>> GetMetadataInfo(
      const std::string& revision) const = 0;
  // All that are still answered for, the newest last.
  virtual std::vector<std::shared_ptr<const MetadataInfo>> MetadataInfos() const = 0;
};

// A MetadataService that listens.
class MetadataServer {
 public:
  virtual ~MetadataServer() = default;
  // What the instance must say, so that consumers find it: `dubbo.metadata-service.url-params`, ...
  virtual std::map<std::string, std::string> InstanceMetadata() const = 0;
  // Within 5 s; idempotent.
  virtual void Close() = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_METADATA_METADATA_SERVICE_H_
