#include "signpost/registry/store/store_centre.h"

#include <utility>

#include "signpost/registry/store/store_config_source.h"
#include "signpost/registry/store/store_mapping_store.h"
#include "signpost/registry/store/store_metadata_report.h"
#include "signpost/registry/store/store_service_discovery.h"

namespace signpost {

absl::Duration SessionTtl(const Url& url) {
  constexpr int64_t kDefaultMs = 60000;
  const int64_t ms = url.GetInt("session", kDefaultMs).value_or(kDefaultMs);
  return absl::Milliseconds(ms > 0 ? ms : kDefaultMs);
}

namespace {

class StoreCentre final : public RegistryCentre {
 public:
  StoreCentre(const Url& url, std::shared_ptr<Executor> executor, std::unique_ptr<Store> store)
      : url_(url),
        executor_(std::move(executor)),
        store_(std::move(store)),
        layout_(StoreLayout::FromUrl(url)),
        discovery_(store_, layout_, SessionTtl(url), executor_->clock()),
        metadata_report_(store_, layout_, executor_->clock()),
        mapping_store_(store_, layout_.mapping),
        config_source_(store_, layout_.config) {}

  ~StoreCentre() override { Close(); }

  ServiceDiscovery& discovery() override { return discovery_; }
  MetadataReport& metadata_report() override { return metadata_report_; }
  MappingStore& mapping_store() override { return mapping_store_; }
  ConfigSource& config_source() override { return config_source_; }
  Store& store() override { return *store_; }
  const Url& url() const override { return url_; }
  void Close() override { store_->Close(); }

 private:
  const Url url_;
  // The store calls back there until it is closed.
  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Store> store_;
  const StoreLayout layout_;
  StoreServiceDiscovery discovery_;
  StoreMetadataReport metadata_report_;
  StoreMappingStore mapping_store_;
  StoreConfigSource config_source_;
};

}  // namespace

std::unique_ptr<RegistryCentre> NewStoreCentre(const Url& url, std::shared_ptr<Executor> executor,
                                               std::unique_ptr<Store> store) {
  return std::make_unique<StoreCentre>(url, std::move(executor), std::move(store));
}

}  // namespace signpost
