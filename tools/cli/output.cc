#include "signpost/tools/cli/output.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_replace.h"

namespace signpost::cli {
namespace {

std::string OneLine(absl::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c == '\n' || c == '\t' ? ' ' : '?';
  }
  return line;
}

}  // namespace

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
