#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <sstream>
#include <string>

#include "signpost/tools/cli/output.h"
#include "tests/support/loopback.h"
#include "tests/tools/cli/cli_fixture.h"

namespace signpost::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProvideTest : public CliTest {};

TEST_F(ProvideTest, RegistersUntilStoppedAndSaysWhere) {
  auto keeper = Provider("other", {"tri://192.0.2.9:1/org.example.Other?methods=x"});
  wait_for_stop_ = [&](absl::Duration) {
    // While it runs, a consumer finds it.
    ClientOptions options;
    options.registry = registry_;
    auto consumer = Client::Create(options, registries_);
    EXPECT_TRUE(consumer.ok());
    auto directory = (*consumer)->consumer().Refer("g/org.example.Echo:1.0.0");
    const absl::Status ready = (*directory)->WaitReady(absl::Seconds(10));
    EXPECT_TRUE(ready.ok()) << ready;
    auto picked = (*directory)->Pick(Request());
    EXPECT_TRUE(picked.ok()) << picked.status();
    if (picked.ok()) {
      EXPECT_EQ(picked->endpoint.address(), "192.0.2.1:50051");
      EXPECT_EQ(picked->endpoint->Get("region"), "hz");
      (*directory)->Done(*picked, CallOutcome());
    }
    return true;
  };
  ASSERT_EQ(Run({"provide", "--app=shop", "--service=g/org.example.Echo:1.0.0",
                 "--address=192.0.2.1:50051", "--param", "region=hz", "--param=methods=echo"}),
            kDone)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("registered /services/shop/192.0.2.1:50051\n"));
  EXPECT_THAT(out_.str(), HasSubstr("registered /dubbo/mapping/org.example.Echo\n"));
  EXPECT_THAT(out_.str(), HasSubstr("registered /dubbo/metadata/shop/"));
  // Afterwards it is gone, the mapping stays.
  EXPECT_EQ(Run({"instances", "shop"}), kNotFound);
  EXPECT_EQ(Run({"mapping", "org.example.Echo"}), kDone);
}

TEST_F(ProvideTest, FaultsAreNamed) {
  const std::string service = "--service=org.example.Echo";
  const std::string address = "--address=192.0.2.1:50051";
  EXPECT_EQ(Run({"provide", service, address}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--app"));
  EXPECT_EQ(Run({"provide", "--app=shop", address}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--service"));
  EXPECT_EQ(Run({"provide", "--app=shop", service, "--address=192.0.2.1:0"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("192.0.2.1:0"));
  EXPECT_EQ(Run({"provide", "--app=shop", service, address, "--address=dubbo://192.0.2.1"}),
            kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--address=dubbo://192.0.2.1: not [PROTOCOL://]HOST:PORT"));
  EXPECT_EQ(Run({"provide", "--app=shop", service}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--address"));
  EXPECT_EQ(Run({"provide", "--app=a/b", service, address}), kUsage);
  EXPECT_EQ(Run({"provide", "--app=shop", service, address, "--register-mode=both"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("instance, interface or all"));
  // The fixture has no protocol that could answer.
  EXPECT_EQ(Run({"provide", "--app=shop", service, address, "--metadata=local"}), kUsage);
}

TEST_F(ProvideTest, RegisterModeChoosesTheLevels) {
  const struct {
    const char* mode;
    bool application;
    bool interface;
  } kTable[] = {{"instance", true, false}, {"interface", false, true}, {"all", true, true}};
  auto keeper = Provider("other", {"tri://192.0.2.9:1/org.example.Other?methods=x"});
  for (const std::string tail : {"", "?register-mode=instance", "?registry-type=service"}) {
    for (const auto& row : kTable) {
      SCOPED_TRACE(tail + " " + row.mode);
      const std::string plain = registry_;
      registry_ = plain + tail;
      EXPECT_EQ(Run({"provide", "--app=shop", "--service=g/org.example.Echo:1.0.0",
                     "--address=192.0.2.1:50051", std::string("--register-mode=") + row.mode}),
                kDone)
          << err_.str();
      registry_ = plain;
      const bool application =
          out_.str().find("registered /services/shop/192.0.2.1:50051\n") != std::string::npos;
      const bool interface =
          out_.str().find("registered /dubbo/org.example.Echo/providers/tri%3A%2F%2F192.0.2.1") !=
          std::string::npos;
      EXPECT_EQ(application, row.application) << out_.str();
      EXPECT_EQ(interface, row.interface) << out_.str();
    }
  }
}

TEST_F(ProvideTest, EachServiceAtEachAddressIsOneInstance) {
  auto keeper = Provider("other", {"tri://192.0.2.9:1/org.example.Other?methods=x"});
  wait_for_stop_ = [&](absl::Duration) {
    const std::string before = out_.str();
    for (const std::string service : {"org.example.Echo", "g/org.example.Stock"}) {
      EXPECT_EQ(Run({"resolve", service}), kDone) << err_.str();
      EXPECT_THAT(out_.str(), HasSubstr("192.0.2.1:50051"));
      EXPECT_THAT(out_.str(), HasSubstr("192.0.2.1:20880"));
    }
    EXPECT_EQ(Run({"instances", "shop", "--json"}), kDone) << err_.str();
    out_.str(before);
    return true;
  };
  ASSERT_EQ(Run({"provide", "--app=shop", "--service=org.example.Echo",
                 "--service=g/org.example.Stock", "--address=192.0.2.1:50051",
                 "--address=dubbo://192.0.2.1:20880", "--register-mode=all"}),
            kDone)
      << err_.str();
  // As Dubbo has it, the one of the protocol dubbo.
  EXPECT_THAT(out_.str(), HasSubstr("registered /services/shop/192.0.2.1:20880\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("/services/shop/192.0.2.1:50051")));
  EXPECT_THAT(out_.str(), HasSubstr("tri%3A%2F%2F192.0.2.1%3A50051%2Forg.example.Echo"));
  EXPECT_THAT(out_.str(), HasSubstr("dubbo%3A%2F%2F192.0.2.1%3A20880%2Forg.example.Echo"));
}

TEST_F(ProvideTest, AddressAndNameFromTheEnvironment) {
  auto keeper = Provider("other", {"tri://192.0.2.9:1/org.example.Other?methods=x"});
  setenv("DUBBO_APPLICATION_NAME", "by-environment", 1);
  setenv("DUBBO_IP_TO_REGISTRY", "2001:db8::7", 1);
  setenv("DUBBO_PORT_TO_REGISTRY", "31000", 1);
  EXPECT_EQ(Run({"provide", "--service=org.example.Echo", "--address=:50051"}), kDone)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("registered /services/by-environment/[2001:db8::7]:31000\n"));
  setenv("DUBBO_IP_TO_REGISTRY", "0.0.0.0", 1);
  EXPECT_EQ(Run({"provide", "--service=org.example.Echo", "--address=:50051"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("environment DUBBO_IP_TO_REGISTRY"));
  // Who only looks does not need it, but is told too.
  EXPECT_EQ(Run({"apps"}), kUsage);
  unsetenv("DUBBO_IP_TO_REGISTRY");
  unsetenv("DUBBO_PORT_TO_REGISTRY");
  setenv("SIGNPOST_CONFIG", "nowhere.yaml", 1);
  EXPECT_EQ(Run({"provide", "--service=org.example.Echo", "--address=:50051"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("nowhere.yaml"));
  unsetenv("SIGNPOST_CONFIG");
  unsetenv("DUBBO_APPLICATION_NAME");
  EXPECT_EQ(Run({"provide", "--service=org.example.Echo", "--address=:50051"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--app"));
}

TEST_F(ProvideTest, TcpCheckOfAWildcardAsksTheLoopback) {
  auto keeper = Provider("other", {"tri://192.0.2.9:1/org.example.Other?methods=x"});
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  // Advertised is another address, which nobody here can ask.
  setenv("DUBBO_IP_TO_REGISTRY", "127.0.0.9", 1);
  int rounds = 0;
  wait_for_stop_ = [&](absl::Duration) {
    if (++rounds == 2) close(fd);
    return rounds > 3;
  };
  ASSERT_EQ(Run({"provide", "--app=shop", "--service=org.example.Echo", "--check=tcp",
                 "--address=:" + std::to_string(ntohs(address.sin_port))}),
            kDone)
      << err_.str();
  unsetenv("DUBBO_IP_TO_REGISTRY");
  const std::string registered = "127.0.0.9:" + std::to_string(ntohs(address.sin_port));
  EXPECT_THAT(out_.str(), HasSubstr("offline " + registered + "\n"));
  EXPECT_EQ(rounds, 4);
}

TEST_F(ProvideTest, TcpCheckTakesItOffWhileThePortDoesNotAnswer) {
  auto keeper = Provider("other", {"tri://192.0.2.9:1/org.example.Other?methods=x"});
  int rounds = 0;
  wait_for_stop_ = [&](absl::Duration period) {
    EXPECT_EQ(period, absl::Seconds(1));
    return ++rounds > 2;
  };
  // Nothing listens on port 1 of the loopback address.
  ASSERT_EQ(Run({"provide", "--app=shop", "--service=org.example.Echo", "--address=127.0.0.1:1",
                 "--check=tcp"}),
            kDone)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("offline 127.0.0.1:1\n"));
}

}  // namespace
}  // namespace signpost::cli
