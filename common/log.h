// Where the library's few log lines go. glog is the default sink; the library never initialises it.
//
// Threads: Write may be called from any thread and must not call back into the library.
// Secrets: texts never hold passwords (Url::ToString hides them).
#ifndef SIGNPOST_COMMON_LOG_H_
#define SIGNPOST_COMMON_LOG_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace signpost {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogLevel level, absl::string_view text) = 0;
};

// Replaces the sink of the process; nullptr brings glog back. The old sink is kept alive until
// running Write calls have ended.
void SetLogSink(std::shared_ptr<LogSink> sink);

// Levels below are dropped before the text is handed on. Default: kInfo.
void SetLogThreshold(LogLevel level);

// Hands on OneLine(text).
void Log(LogLevel level, absl::string_view text);

// What names from outside may hold must not forge lines or move a terminal's cursor: control
// characters become \xNN; at most 8 KiB.
std::string OneLine(absl::string_view text);

}  // namespace signpost

#endif  // SIGNPOST_COMMON_LOG_H_
