#include "signpost/tests/interop/triple/triple_wrapper.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace signpost::interop {
namespace {

constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;  // wire types

bool ReadVarint(absl::string_view& rest, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest.empty()) return false;
    const auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendField(int number, absl::string_view value, std::string& out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kBytes, out);
  AppendVarint(value.size(), out);
  out.append(value.data(), value.size());
}

// Reads one field; `value` holds it if its wire type is kBytes. False if it is none.
bool ReadField(absl::string_view& rest, uint64_t& number, int& type, absl::string_view& value) {
  uint64_t key = 0, length = 0;
  if (!ReadVarint(rest, key)) return false;
  number = key >> 3;
  type = static_cast<int>(key & 7);
  if (number == 0) return false;
  if (type == kVarint) return ReadVarint(rest, length);
  if (type == kBytes) {
    if (!ReadVarint(rest, length)) return false;
  } else if (type == kFixed64 || type == kFixed32) {
    length = type == kFixed64 ? 8 : 4;
  } else {
    return false;
  }
  if (length > rest.size()) return false;
  value = rest.substr(0, length);
  rest.remove_prefix(length);
  return true;
}

// Hands each field of bytes to `take(number, value)`.
template <typename Take>
absl::Status ReadMessage(absl::string_view data, absl::string_view what, Take take) {
  absl::string_view rest = data;
  while (!rest.empty()) {
    const size_t at = data.size() - rest.size();
    uint64_t number = 0;
    int type = 0;
    absl::string_view value;
    if (!ReadField(rest, number, type, value)) {
      return absl::InvalidArgumentError(absl::StrCat(what, ", byte ", at, ": no field"));
    }
    if (type == kBytes) take(number, std::string(value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TripleRequest> ParseTripleRequest(absl::string_view data) {
  TripleRequest request;
  absl::Status status =
      ReadMessage(data, "TripleRequestWrapper", [&request](uint64_t number, std::string value) {
        if (number == 1)
          request.serialize_type = std::move(value);
        else if (number == 2)
          request.args.push_back(std::move(value));
        else if (number == 3)
          request.arg_types.push_back(std::move(value));
      });
  if (!status.ok()) return status;
  return request;
}

absl::StatusOr<TripleResponse> ParseTripleResponse(absl::string_view data) {
  TripleResponse response;
  absl::Status status =
      ReadMessage(data, "TripleResponseWrapper", [&response](uint64_t number, std::string value) {
        if (number == 1)
          response.serialize_type = std::move(value);
        else if (number == 2)
          response.data = std::move(value);
        else if (number == 3)
          response.type = std::move(value);
      });
  if (!status.ok()) return status;
  return response;
}

std::string Serialize(const TripleRequest& request) {
  std::string out;
  AppendField(1, request.serialize_type, out);
  for (const std::string& arg : request.args) AppendField(2, arg, out);
  for (const std::string& type : request.arg_types) AppendField(3, type, out);
  return out;
}

std::string Serialize(const TripleResponse& response) {
  std::string out;
  AppendField(1, response.serialize_type, out);
  AppendField(2, response.data, out);
  AppendField(3, response.type, out);
  return out;
}

}  // namespace signpost::interop
