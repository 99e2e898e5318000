// What the tests of OverridingRegistrar share: rules that a test tells by hand, and a Registrar
// that keeps what it is asked for.
#ifndef SIGNPOST_TESTS_CLIENT_OVERRIDING_TEST_H_
#define SIGNPOST_TESTS_CLIENT_OVERRIDING_TEST_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "signpost/client/centre_registries.h"
#include "signpost/client/overriding_registrar.h"
#include "signpost/common/manual_executor.h"
#include "signpost/registry/registrar.h"
#include "signpost/router/configurator/configurator_set.h"

namespace signpost::client_internal {

using SetPtr = std::shared_ptr<const ConfiguratorSet>;
using Texts = std::vector<std::string>;

inline constexpr char kU1[] = "tri://192.0.2.1:20880/a.A?application=shop&weight=100";
inline constexpr char kU2[] = "tri://192.0.2.1:20880/a.A?application=shop&weight=200";
inline constexpr char kOther[] = "tri://192.0.2.1:20880/b.B?application=shop";

inline Url Parsed(const std::string& text) {
  auto url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : Url();
}

inline SetPtr Rules(const Texts& texts) {
  std::vector<Url> urls;
  for (const std::string& text : texts) urls.push_back(Parsed(text));
  auto configurators = ConfiguratorsOf(urls);
  EXPECT_EQ(configurators.size(), texts.size());
  return std::make_shared<const ConfiguratorSet>(
      std::move(configurators), std::vector<Configurator>(), std::vector<Configurator>());
}
inline SetPtr None() { return Rules({}); }
// What makes kU2 of kU1.
inline SetPtr Weight200() { return Rules({"override://0.0.0.0/a.A?weight=200"}); }

// What it is asked for, in order: `+URL`, `-URL`, `none`. Desired state, as a registry keeps it.
class RecordingRegistrar final : public Registrar {
 public:
  explicit RecordingRegistrar(Executor& executor) : executor_(executor) {}

  void Register(const Url& url, const CallOptions& options, DoneCallback done) override {
    there_[url.ToFullString()] = true;
    Take("+" + url.ToFullString(), options, std::move(done));
  }
  void Unregister(const Url& url, const CallOptions& options, DoneCallback done) override {
    there_.erase(url.ToFullString());
    Take("-" + url.ToFullString(), options, std::move(done));
  }
  void UnregisterAll(const CallOptions& options, DoneCallback done) override {
    there_.clear();
    Take("none", options, std::move(done));
  }

  // Since the last call of this.
  Texts TakeAsked() { return std::exchange(asked_, {}); }
  Texts there() const {
    Texts urls;
    for (const auto& [url, is] : there_) urls.push_back(url);
    return urls;
  }
  // How often nothing was there after something had been.
  int gaps() const { return gaps_; }

  absl::Status answer;
  // Of whom it is the final answer that it can never be registered.
  void FailFor(std::function<bool(const std::string&)> what) { call_fails_ = std::move(what); }
  CallOptions options;  // of the last call

 private:
  void Take(std::string what, const CallOptions& call, DoneCallback done) {
    EXPECT_TRUE(executor_.IsCurrent());
    asked_.push_back(std::move(what));
    options = call;
    if (there_.empty()) ++gaps_;
    const bool fails = call_fails_ != nullptr && call_fails_(asked_.back());
    executor_.Post([status = fails ? absl::InvalidArgumentError("path too long") : answer,
                    done = std::move(done)]() mutable { std::move(done)(status); });
  }

  Executor& executor_;
  std::map<std::string, bool> there_;
  std::function<bool(const std::string&)> call_fails_;
  Texts asked_;
  int gaps_ = 0;
};

class OverridingRegistrarTest : public testing::Test {
 protected:
  using Answer = std::shared_ptr<std::optional<absl::Status>>;

  ~OverridingRegistrarTest() override {
    overriding_.reset();
    executor_->RunUntilIdle();
  }

  // Rules as the test tells them.
  WatchConfigurators Watching() {
    return [this](const Url& url, ConfiguratorsCallback on_change) {
      EXPECT_TRUE(executor_->IsCurrent());
      const std::string key = url.ToFullString();
      EXPECT_EQ(watched_.count(key), 0u) << key << " is watched twice";
      watched_[key] = std::move(on_change);
      ++watches_;
      return Subscription([this, key] { watched_.erase(key); });
    };
  }
  void Tell(const std::string& url, const SetPtr& rules) {
    executor_->Post([this, url, rules] {
      const auto it = watched_.find(url);
      ASSERT_NE(it, watched_.end()) << url << " is not watched";
      const ConfiguratorsCallback callback = it->second;
      callback(rules);
    });
    executor_->RunUntilIdle();
  }

  DoneCallback Keep(const Answer& answer) {
    return [answer](absl::Status status) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(status);
    };
  }
  static Answer NoAnswer() { return std::make_shared<std::optional<absl::Status>>(); }
  Answer Register(const std::string& url, const CallOptions& options = CallOptions()) {
    Answer answer = NoAnswer();
    overriding_->Register(Parsed(url), options, Keep(answer));
    executor_->RunUntilIdle();
    return answer;
  }
  Answer Unregister(const std::string& url) {
    Answer answer = NoAnswer();
    overriding_->Unregister(Parsed(url), CallOptions(), Keep(answer));
    executor_->RunUntilIdle();
    return answer;
  }
  Answer UnregisterAll() {
    Answer answer = NoAnswer();
    overriding_->UnregisterAll(CallOptions(), Keep(answer));
    executor_->RunUntilIdle();
    return answer;
  }
  static CallOptions Within(absl::Duration timeout) {
    CallOptions options;
    options.timeout = timeout;
    return options;
  }
  Texts TakeAsked() { return registrar_->TakeAsked(); }

  SimulatedClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<RecordingRegistrar> registrar_ = std::make_shared<RecordingRegistrar>(*executor_);
  std::map<std::string, ConfiguratorsCallback> watched_;  // by the exported URL
  int watches_ = 0;
  std::unique_ptr<OverridingRegistrar> overriding_ = std::make_unique<OverridingRegistrar>(
      executor_, registrar_, Watching(), [] { return "registry r: not connected"; });
};

}  // namespace signpost::client_internal

#endif  // SIGNPOST_TESTS_CLIENT_OVERRIDING_TEST_H_
