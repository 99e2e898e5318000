// A Store that hands every call to another one: tests override what they want to be different.
//
// Ownership: owns the other store. Threads: as Store.
#ifndef SIGNPOST_TESTS_SUPPORT_FORWARDING_STORE_H_
#define SIGNPOST_TESTS_SUPPORT_FORWARDING_STORE_H_

#include <memory>
#include <string>
#include <utility>

#include "signpost/registry/store/store.h"

namespace signpost {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> target) : target_(std::move(target)) {}

  void Get(const std::string& key, const CallOptions& options, ValueCallback done) override {
    target_->Get(key, options, std::move(done));
  }
  void Put(const std::string& key, std::string value, const CallOptions& options,
           VersionCallback done) override {
    target_->Put(key, std::move(value), options, std::move(done));
  }
  void CreateSessionBound(const std::string& key, std::string value, absl::Duration ttl,
                          const CallOptions& options, VersionCallback done,
                          ParentKind parents) override {
    target_->CreateSessionBound(key, std::move(value), ttl, options, std::move(done), parents);
  }
  void CompareAndSet(const std::string& key, std::string value, int64_t expected_version,
                     const CallOptions& options, VersionCallback done) override {
    target_->CompareAndSet(key, std::move(value), expected_version, options, std::move(done));
  }
  void Delete(const std::string& key, int64_t expected_version, const CallOptions& options,
              DoneCallback done) override {
    target_->Delete(key, expected_version, options, std::move(done));
  }
  void Exists(const std::string& key, const CallOptions& options, BoolCallback done) override {
    target_->Exists(key, options, std::move(done));
  }
  void List(const std::string& prefix, const CallOptions& options, ListCallback done) override {
    target_->List(prefix, options, std::move(done));
  }
  Subscription Watch(const std::string& key, WatchCallback on_change) override {
    return target_->Watch(key, std::move(on_change));
  }
  Subscription WatchTree(const std::string& prefix, TreeCallback on_change,
                         TreeContent content) override {
    return target_->WatchTree(prefix, std::move(on_change), content);
  }
  Subscription WatchSession(SessionCallback on_event) override {
    return target_->WatchSession(std::move(on_event));
  }
  bool IsAvailable() const override { return target_->IsAvailable(); }
  StoreCapabilities capabilities() const override { return target_->capabilities(); }
  void Close() override { target_->Close(); }

 private:
  const std::unique_ptr<Store> target_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_FORWARDING_STORE_H_
