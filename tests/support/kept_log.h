// Keeps what is logged while it lives, instead of glog.
//
// Threads: any. One at a time.
#ifndef SIGNPOST_TESTS_SUPPORT_KEPT_LOG_H_
#define SIGNPOST_TESTS_SUPPORT_KEPT_LOG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"

namespace signpost {

class KeptLog {
 public:
  explicit KeptLog(LogLevel threshold = LogLevel::kInfo) {
    SetLogThreshold(threshold);
    SetLogSink(sink_);
  }
  ~KeptLog() {
    SetLogThreshold(LogLevel::kInfo);
    SetLogSink(nullptr);
  }
  KeptLog(const KeptLog&) = delete;
  KeptLog& operator=(const KeptLog&) = delete;

  std::vector<std::string> lines() const {
    MutexLock lock(sink_->mutex);
    return sink_->lines;
  }
  std::string text() const { return absl::StrJoin(lines(), "\n"); }

 private:
  struct Sink final : LogSink {
    void Write(LogLevel, absl::string_view text) override {
      MutexLock lock(mutex);
      lines.emplace_back(text);
    }
    Mutex mutex;
    std::vector<std::string> lines ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_KEPT_LOG_H_
