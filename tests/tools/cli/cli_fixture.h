// Runs sub-commands in this process on a memory registry of the test's own.
#ifndef SIGNPOST_TESTS_TOOLS_CLI_CLI_FIXTURE_H_
#define SIGNPOST_TESTS_TOOLS_CLI_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/common/json.h"
#include "signpost/tools/cli/arguments.h"
#include "signpost/tools/cli/commands.h"

namespace signpost::cli {

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

  Json Document() {
    auto json = Json::Parse(out_.str());
    EXPECT_TRUE(json.ok()) << json.status() << ": " << out_.str();
    return json.ok() ? *json : Json();
  }

  RegistryFactories registries_{"registry"};
  std::string registry_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::function<bool(absl::Duration)> wait_for_stop_ = [](absl::Duration) { return true; };
};

}  // namespace signpost::cli

#endif  // SIGNPOST_TESTS_TOOLS_CLI_CLI_FIXTURE_H_
