// MetadataReport on a Store. Dubbo Java reads `<java root>/<app>/<revision>`, dubbo-go
// `<go root>/<app>/<revision>`, and neither looks at the other's: documents are written at both.
//
// Threads, ownership, errors: as MetadataReport.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_METADATA_REPORT_H_
#define SIGNPOST_REGISTRY_STORE_STORE_METADATA_REPORT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "signpost/common/clock.h"
#include "signpost/metadata/metadata_report.h"
#include "signpost/registry/store/store.h"
#include "signpost/registry/store/store_centre.h"

namespace signpost {

class StoreMetadataReport final : public MetadataReport {
 public:
  // `clock` must outlive this.
  StoreMetadataReport(std::shared_ptr<Store> store, StoreLayout layout, const Clock& clock)
      : store_(std::move(store)), layout_(std::move(layout)), clock_(clock) {}

  void Publish(const MetadataInfo& info, const CallOptions& options, DoneCallback done) override;
  void Get(const std::string& app, const std::string& revision, const CallOptions& options,
           GetCallback done) override;
  std::vector<std::string> PathsOf(const std::string& app,
                                   const std::string& revision) const override;

 private:
  const std::shared_ptr<Store> store_;
  const StoreLayout layout_;
  const Clock& clock_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_METADATA_REPORT_H_
