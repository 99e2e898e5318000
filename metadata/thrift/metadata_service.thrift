// Dubbo's MetadataService over Apache Thrift (TFramedTransport, TBinaryProtocol): what a C++
// process says about itself to C++ consumers. docs/formats/metadata_service.md.

namespace cpp signpost.metadata_wire

struct ServiceInfo {
  1: string name
  2: optional string group
  3: optional string version
  4: string protocol
  5: string path
  6: optional i32 port
  7: map<string, string> params
}

struct MetadataInfo {
  1: string app
  2: string revision
  3: map<string, ServiceInfo> services
}

// Never an empty document in its place.
exception UnknownRevision {
  1: string message
}

service MetadataService {
  string version()
  list<string> getExportedURLs(1: string serviceInterface, 2: string group, 3: string version, 4: string protocol)
  list<string> getSubscribedURLs()
  MetadataInfo getMetadataInfo(1: string revision) throws (1: UnknownRevision unknown)
  list<MetadataInfo> getMetadataInfos()
}
