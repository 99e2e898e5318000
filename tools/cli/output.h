// What `signpost` prints: aligned tables for people, one JSON document for programs, one line for
// errors.
#ifndef SIGNPOST_TOOLS_CLI_OUTPUT_H_
#define SIGNPOST_TOOLS_CLI_OUTPUT_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace signpost::cli {

enum ExitCode { kDone = 0, kNotFound = 1, kUsage = 2, kUnreachable = 3 };

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void Add(std::vector<std::string> row);
  // Columns two blanks apart; each cell is OneLine.
  void Print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// One line of text for people, which may hold names from outside: OneLine and a newline.
void PrintLine(std::ostream& out, absl::string_view text);

// `signpost: <what>: <why>` and the exit code that the status stands for.
int Fail(std::ostream& err, absl::string_view what, const absl::Status& why);

}  // namespace signpost::cli

#endif  // SIGNPOST_TOOLS_CLI_OUTPUT_H_
