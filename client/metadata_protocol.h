// How processes ask each other for metadata, and answer.
//
// Threads: values.
#ifndef SIGNPOST_CLIENT_METADATA_PROTOCOL_H_
#define SIGNPOST_CLIENT_METADATA_PROTOCOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/metadata_fetcher.h"
#include "signpost/metadata/metadata_service.h"

namespace signpost {

// One way to ask and answer. Plug-ins have them (client/plugins/dubbo_metadata.h).
struct MetadataProtocol {
  std::string name;  // as in url-params: `dubbo`, `tri`, `thrift`
  // Asks others; callbacks on the executor, which outlives it.
  std::function<std::unique_ptr<MetadataFetcher>(Executor&)> fetcher;
  // Answers others, on `host` unless "", `port` unless 0. May be empty: this one only asks.
  std::function<absl::StatusOr<std::unique_ptr<MetadataServer>>(
      std::shared_ptr<const MetadataService>, const std::string& host, uint16_t port)>
      server;
};

// Of a process with metadata `local`.
struct MetadataServiceOptions {
  // Names of the protocols that it answers by. The instance names the first one, so that is the one
  // that others ask by; the more, the more ports. Default: the first that has a server
  std::vector<std::string> protocols;
  // To listen on. Anybody who reaches it may ask. Default: "", what the plug-in says, else all
  // addresses of this machine
  std::string host;
  // Of the first one. Default: 0, what the plug-in says, else any that is free
  uint16_t port = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_METADATA_PROTOCOL_H_
