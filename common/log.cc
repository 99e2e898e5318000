#include "signpost/common/log.h"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signpost/common/mutex.h"

namespace signpost {
namespace {

class GlogSink final : public LogSink {
 public:
  void Write(LogLevel level, absl::string_view text) override {
    google::LogSeverity severity = google::GLOG_INFO;
    if (level == LogLevel::kWarning) severity = google::GLOG_WARNING;
    if (level == LogLevel::kError) severity = google::GLOG_ERROR;
    if (!google::IsGoogleLoggingInitialized()) {
      // Glog would complain of that first, on stderr too.
      const std::string line = absl::StrCat("signpost: ", text, "\n");
      fwrite(line.data(), 1, line.size(), stderr);
      return;
    }
    google::LogMessage("signpost", 0, severity).stream() << std::string(text);
  }
};

struct Target {
  Mutex mutex;
  std::shared_ptr<LogSink> sink ABSL_GUARDED_BY(mutex) = std::make_shared<GlogSink>();
  std::atomic<LogLevel> threshold{LogLevel::kInfo};
};

Target& TheTarget() {
  static Target* const target = new Target;
  return *target;
}

constexpr size_t kMaxText = 8192;

}  // namespace

std::string OneLine(absl::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  line.reserve(std::min(text.size(), kMaxText));
  for (const char c : text.substr(0, kMaxText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line.push_back(c);
    } else {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (text.size() > kMaxText) absl::StrAppend(&line, "... (", text.size(), " bytes)");
  return line;
}

void SetLogSink(std::shared_ptr<LogSink> sink) {
  if (sink == nullptr) sink = std::make_shared<GlogSink>();
  Target& target = TheTarget();
  MutexLock lock(target.mutex);
  target.sink.swap(sink);
}

void SetLogThreshold(LogLevel level) { TheTarget().threshold.store(level); }

void Log(LogLevel level, absl::string_view text) {
  Target& target = TheTarget();
  if (level < target.threshold.load()) return;
  std::shared_ptr<LogSink> sink;
  {
    MutexLock lock(target.mutex);
    sink = target.sink;
  }
  sink->Write(level, OneLine(text));
}

}  // namespace signpost
