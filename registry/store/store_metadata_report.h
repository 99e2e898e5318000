// MetadataReport on a Store. Dubbo Java reads `<java root>/<app>/<revision>`, dubbo-go
// `<go root>/<app>/<revision>`, and neither looks at the other's: documents are written at both.
//
// Threads, ownership, errors: as MetadataReport.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_METADATA_REPORT_H_
#define SIGNPOST_REGISTRY_STORE_STORE_METADATA_REPORT_H_

#include <memory>
#include <string>
#include <utility>

#include "signpost/metadata/metadata_report.h"
#include "signpost/registry/store/store.h"

namespace signpost {

class StoreMetadataReport final : public MetadataReport {
 public:
  StoreMetadataReport(std::shared_ptr<Store> store, std::string java_root, std::string go_root)
      : store_(std::move(store)), java_root_(std::move(java_root)), go_root_(std::move(go_root)) {}

  void Publish(const MetadataInfo& info, const CallOptions& options, DoneCallback done) override;
  void Get(const std::string& app, const std::string& revision, const CallOptions& options,
           GetCallback done) override;

 private:
  const std::shared_ptr<Store> store_;
  const std::string java_root_;
  const std::string go_root_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_METADATA_REPORT_H_
