#include "signpost/tools/cli/output.h"

#include <algorithm>
#include <utility>

#include "signpost/common/log.h"

namespace signpost::cli {
Table::Table(std::vector<std::string> header) { Add(std::move(header)); }

void Table::Add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = OneLine(cell);
  rows_.push_back(std::move(row));
}

void Table::Print(std::ostream& out) const {
  std::vector<size_t> width(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < width.size(); ++i) {
      width[i] = std::max(width[i], row[i].size());
    }
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(width[i] - row[i].size() + 2, ' ');
    }
    out << line << '\n';
  }
}

void PrintLine(std::ostream& out, absl::string_view text) { out << OneLine(text) << '\n'; }

int Fail(std::ostream& err, absl::string_view what, const absl::Status& why) {
  err << "signpost: " << OneLine(what) << ": " << OneLine(why.message());
  switch (why.code()) {
    case absl::StatusCode::kNotFound:
      err << '\n';
      return kNotFound;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      err << '\n';
      return kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      err << " (is the registry up? --registry names it, --timeout gives it more time)\n";
      return kUnreachable;
    default:
      err << '\n';
      return kUnreachable;
  }
}

}  // namespace signpost::cli
