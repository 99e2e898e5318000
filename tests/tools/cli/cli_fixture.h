// Runs sub-commands in this process on a memory registry of the test's own.
#ifndef SIGNPOST_TESTS_TOOLS_CLI_CLI_FIXTURE_H_
#define SIGNPOST_TESTS_TOOLS_CLI_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/mutex.h"
#include "signpost/tools/cli/arguments.h"
#include "signpost/tools/cli/commands.h"

namespace signpost::cli {

// A stream that a test may read while the command's own threads write.
class SharedText final : public std::ostream {
 public:
  SharedText() : std::ostream(nullptr) { rdbuf(&buffer_); }

  std::string str() const {
    MutexLock lock(buffer_.mutex);
    return buffer_.text;
  }
  void str(const std::string& text) {
    MutexLock lock(buffer_.mutex);
    buffer_.text = text;
  }
  // Whether `text` is there by now, or is so within `timeout`.
  bool Await(const std::string& text, absl::Duration timeout) {
    const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
    MutexLock lock(buffer_.mutex);
    while (buffer_.text.find(text) == std::string::npos) {
      if (Clock::Real().MonotonicNow() > end) return false;
      buffer_.changed.WaitFor(buffer_.mutex, absl::Milliseconds(100));
    }
    return true;
  }

 private:
  struct Buffer final : std::streambuf {
    int overflow(int c) override {
      MutexLock lock(mutex);
      if (c != traits_type::eof()) text.push_back(static_cast<char>(c));
      changed.SignalAll();
      return 0;
    }
    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
      MutexLock lock(mutex);
      text.append(bytes, static_cast<size_t>(count));
      changed.SignalAll();
      return count;
    }
    mutable Mutex mutex;
    CondVar changed;
    std::string text ABSL_GUARDED_BY(mutex);
  };
  Buffer buffer_;
};

class CliTest : public testing::Test {
 protected:
  CliTest() {
    EXPECT_TRUE(AddMemory(registries_).ok());
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    registry_ = absl::StrCat("memory://", info->test_suite_name(), "-", info->name());
  }

  // Keeps the centre alive, and an application with these URLs registered.
  std::unique_ptr<Client> Provider(const std::string& app, const std::vector<std::string>& urls) {
    ClientOptions options;
    options.app = app;
    options.registry = registry_;
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    for (const std::string& url : urls) {
      const absl::Status status = (*client)->provider().Export(url);
      EXPECT_TRUE(status.ok()) << status;
    }
    const absl::Status status = (*client)->Start(absl::Seconds(10));
    EXPECT_TRUE(status.ok()) << status;
    return *std::move(client);
  }

  int Run(std::vector<std::string> words) {
    words.push_back("--registry=" + registry_);
    auto arguments = ParseArguments(words);
    EXPECT_TRUE(arguments.ok()) << arguments.status();
    out_.str("");
    err_.str("");
    Invocation call{*arguments, registries_, out_, err_, wait_for_stop_, {}};
    return RunCommand(call);
  }

  // Whether the command has said something by now, or does so soon.
  bool Says(const std::string& text) { return out_.Await(text, absl::Seconds(20)); }

  Json Document() {
    auto json = Json::Parse(out_.str());
    EXPECT_TRUE(json.ok()) << json.status() << ": " << out_.str();
    return json.ok() ? *json : Json();
  }

  RegistryFactories registries_{"registry"};
  std::string registry_;
  SharedText out_;
  SharedText err_;
  std::function<bool(absl::Duration)> wait_for_stop_ = [](absl::Duration) { return true; };
};

}  // namespace signpost::cli

#endif  // SIGNPOST_TESTS_TOOLS_CLI_CLI_FIXTURE_H_
