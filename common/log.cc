#include "signpost/common/log.h"

#include <glog/logging.h>

#include <atomic>
#include <string>
#include <utility>

#include "signpost/common/mutex.h"

namespace signpost {
namespace {

class GlogSink final : public LogSink {
 public:
  void Write(LogLevel level, absl::string_view text) override {
    google::LogSeverity severity = google::GLOG_INFO;
    if (level == LogLevel::kWarning) severity = google::GLOG_WARNING;
    if (level == LogLevel::kError) severity = google::GLOG_ERROR;
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

}  // namespace

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
  sink->Write(level, text);
}

}  // namespace signpost
