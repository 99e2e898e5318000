// MappingStore on a Store: one key per interface below the mapping root.
//
// Threads, ownership, errors: as MappingStore. The store is shared with the other adapters.
#ifndef SIGNPOST_REGISTRY_STORE_STORE_MAPPING_STORE_H_
#define SIGNPOST_REGISTRY_STORE_STORE_MAPPING_STORE_H_

#include <memory>
#include <string>
#include <utility>

#include "signpost/mapping/mapping_store.h"
#include "signpost/registry/store/store.h"

namespace signpost {

class StoreMappingStore final : public MappingStore {
 public:
  // `root`: without a slash at its end.
  StoreMappingStore(std::shared_ptr<Store> store, std::string root)
      : store_(std::move(store)), root_(std::move(root)) {}

  void Get(const std::string& interface_name, const CallOptions& options,
           GetCallback done) override;
  void CompareAndSet(const std::string& interface_name, std::string text, int64_t expected_version,
                     const CallOptions& options, DoneCallback done) override;
  Subscription Watch(const std::string& interface_name, WatchCallback on_change) override;
  void List(const CallOptions& options, ListCallback done) override;
  std::string PathOf(const std::string& interface_name) const override;

 private:
  const std::shared_ptr<Store> store_;
  const std::string root_;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_STORE_MAPPING_STORE_H_
