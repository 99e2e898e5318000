#include "signpost/common/log.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace signpost {
namespace {

class Recorder final : public LogSink {
 public:
  void Write(LogLevel level, absl::string_view text) override {
    lines.emplace_back(level, std::string(text));
  }
  std::vector<std::pair<LogLevel, std::string>> lines;
};

TEST(LogTest, ReplacedSinkGetsWhatReachesTheThreshold) {
  auto recorder = std::make_shared<Recorder>();
  SetLogSink(recorder);
  Log(LogLevel::kDebug, "dropped");
  Log(LogLevel::kWarning, "kept");
  SetLogThreshold(LogLevel::kError);
  Log(LogLevel::kWarning, "dropped");
  SetLogThreshold(LogLevel::kInfo);
  SetLogSink(nullptr);
  testing::internal::CaptureStderr();
  Log(LogLevel::kError, "to glog");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("to glog"), std::string::npos);
  ASSERT_EQ(recorder->lines.size(), 1u);
  EXPECT_EQ(recorder->lines[0], std::make_pair(LogLevel::kWarning, std::string("kept")));
}

TEST(LogTest, NamesFromOutsideForgeNoLine) {
  auto recorder = std::make_shared<Recorder>();
  SetLogSink(recorder);
  Log(LogLevel::kError, "service a\nE1130 forged\x1b[2J");
  Log(LogLevel::kError, std::string(1 << 20, 'x'));
  SetLogSink(nullptr);
  ASSERT_EQ(recorder->lines.size(), 2u);
  EXPECT_EQ(recorder->lines[0].second, "service a\\x0aE1130 forged\\x1b[2J");
  EXPECT_LT(recorder->lines[1].second.size(), 9000u);
}

class Silent final : public LogSink {
 public:
  void Write(LogLevel, absl::string_view) override {}
};

TEST(LogTest, SinkReplacedWhileOthersLog) {
  SetLogSink(std::make_shared<Silent>());
  std::thread writer([] {
    for (int i = 0; i < 1000; ++i) Log(LogLevel::kInfo, "text");
  });
  for (int i = 0; i < 1000; ++i) SetLogSink(std::make_shared<Silent>());
  writer.join();
  SetLogSink(nullptr);
}

}  // namespace
}  // namespace signpost
