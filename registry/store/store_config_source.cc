#include "signpost/registry/store/store_config_source.h"

#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

// Zero bytes: that is how operators' tools take a rule away.
absl::StatusOr<ConfigItem> ToItem(const std::string& path, absl::StatusOr<StoreValue> value) {
  if (!value.ok()) return value.status();
  if (value->value.empty()) return absl::NotFoundError(absl::StrCat(path, ": empty"));
  return ConfigItem{std::move(value->value), value->version};
}

absl::Status ToAborted(const absl::Status& status) {
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::AbortedError(status.message());
}

}  // namespace

std::string StoreConfigSource::PathOf(const ConfigKey& key) const {
  return absl::StrCat(root_, "/", key.group, "/", key.key);
}

void StoreConfigSource::Get(const ConfigKey& key, const CallOptions& options, ItemCallback done) {
  const std::string path = PathOf(key);
  store_->Get(path, options,
              [path, done = std::move(done)](absl::StatusOr<StoreValue> value) mutable {
                std::move(done)(ToItem(path, std::move(value)));
              });
}

Subscription StoreConfigSource::Watch(const ConfigKey& key, WatchCallback on_change) {
  const std::string path = PathOf(key);
  return store_->Watch(
      path, [path, on_change = std::move(on_change)](absl::StatusOr<StoreValue> value) mutable {
        on_change(ToItem(path, std::move(value)));
      });
}

void StoreConfigSource::Put(const ConfigKey& key, std::string text, int64_t expected_version,
                            const CallOptions& options, DoneCallback done) {
  static_assert(ConfigSource::kAbsent == Store::kAbsent);
  const std::string path = PathOf(key);
  std::string again = expected_version == kAbsent ? text : std::string();
  store_->CompareAndSet(
      path, std::move(text), expected_version, options,
      [weak = std::weak_ptr<Store>(store_), path, expected_version, options,
       text = std::move(again), done = std::move(done)](absl::StatusOr<int64_t> version) mutable {
        if (expected_version != kAbsent || !absl::IsAlreadyExists(version.status())) {
          return std::move(done)(ToAborted(version.status()));
        }
        // A key of zero bytes counts as absent.
        auto store = weak.lock();
        if (store == nullptr) return std::move(done)(absl::CancelledError(path));
        store->Get(
            path, options,
            [weak, path, options, text = std::move(text),
             done = std::move(done)](absl::StatusOr<StoreValue> value) mutable {
              auto store = weak.lock();
              if (store == nullptr) return std::move(done)(absl::CancelledError(path));
              if (!value.ok() || !value->value.empty()) {
                return std::move(done)(absl::AbortedError(absl::StrCat(path, ": exists already")));
              }
              store->CompareAndSet(
                  path, std::move(text), value->version, options,
                  [done = std::move(done)](absl::StatusOr<int64_t> version) mutable {
                    std::move(done)(ToAborted(version.status()));
                  });
            });
      });
}

void StoreConfigSource::Delete(const ConfigKey& key, int64_t expected_version,
                               const CallOptions& options, DoneCallback done) {
  if (expected_version != kAbsent) {
    store_->Delete(PathOf(key), expected_version, options, std::move(done));
    return;
  }
  Get(key, options, [done = std::move(done)](absl::StatusOr<ConfigItem> item) mutable {
    if (item.ok()) return std::move(done)(absl::AbortedError("the item exists"));
    std::move(done)(absl::IsNotFound(item.status()) ? absl::OkStatus() : item.status());
  });
}

}  // namespace signpost
