#include "signpost/registry/store/store_mapping_store.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

absl::StatusOr<MappingText> ToMapping(absl::StatusOr<StoreValue> value) {
  if (!value.ok()) return value.status();
  return MappingText{std::move(value->value), value->version};
}

}  // namespace

std::string StoreMappingStore::PathOf(const std::string& interface_name) const {
  return absl::StrCat(root_, "/", interface_name);
}

void StoreMappingStore::Get(const std::string& interface_name, const CallOptions& options,
                            GetCallback done) {
  store_->Get(PathOf(interface_name), options,
              [done = std::move(done)](absl::StatusOr<StoreValue> value) mutable {
                std::move(done)(ToMapping(std::move(value)));
              });
}

void StoreMappingStore::CompareAndSet(const std::string& interface_name, std::string text,
                                      int64_t expected_version, const CallOptions& options,
                                      DoneCallback done) {
  static_assert(MappingStore::kAbsent == Store::kAbsent);
  store_->CompareAndSet(PathOf(interface_name), std::move(text), expected_version, options,
                        [done = std::move(done)](absl::StatusOr<int64_t> version) mutable {
                          std::move(done)(version.status());
                        });
}

Subscription StoreMappingStore::Watch(const std::string& interface_name, WatchCallback on_change) {
  return store_->Watch(PathOf(interface_name), [on_change = std::move(on_change)](
                                                   absl::StatusOr<StoreValue> value) mutable {
    on_change(ToMapping(std::move(value)));
  });
}

void StoreMappingStore::List(const CallOptions& options, ListCallback done) {
  store_->List(root_, options,
               [done = std::move(done)](absl::StatusOr<std::vector<StoreChild>> children) mutable {
                 if (!children.ok()) return std::move(done)(children.status());
                 std::vector<std::string> names;
                 names.reserve(children->size());
                 for (StoreChild& child : *children) {
                   if (child.exists) names.push_back(std::move(child.name));
                 }
                 std::move(done)(std::move(names));
               });
}

}  // namespace signpost
