// What the tests of the Dubbo protocol send and expect.
#ifndef SIGNPOST_TESTS_METADATA_DUBBO_FRAMES_H_
#define SIGNPOST_TESTS_METADATA_DUBBO_FRAMES_H_

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "signpost/metadata/dubbo/frame.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/metadata/metadata_info.h"

namespace signpost::metadata_dubbo_internal {

inline MetadataInfo InfoOf(const std::string& revision) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = revision;
  ServiceInfo service;
  service.name = service.path = "a.A";
  service.protocol = "tri";
  service.port = 50051;
  service.params = {{"methods", "echo"}};
  info.services[service.match_key()] = service;
  return info;
}

inline hessian2::ValuePtr TextValue(const std::string& text) {
  hessian2::Value value;
  value.kind = hessian2::Kind::kString;
  value.text = text;
  return std::make_shared<const hessian2::Value>(std::move(value));
}

// As a Java consumer of `shop` asks.
inline Invocation QuestionFor(const std::string& revision) {
  Invocation invocation;
  invocation.path = hessian2::kMetadataServiceV1;
  invocation.version = "1.0.0";
  invocation.method = "getMetadataInfo";
  invocation.parameter_types = "Ljava/lang/String;";
  invocation.arguments = {TextValue(revision)};
  invocation.attachments = {{"path", hessian2::kMetadataServiceV1},
                            {"interface", hessian2::kMetadataServiceV1},
                            {"version", "1.0.0"},
                            {"group", "shop"}};
  return invocation;
}

// The frame that `bytes` are, which must be whole and alone.
inline Frame Parsed(const std::string& bytes) {
  const auto frame = FirstFrame(bytes, kDubboPayloadBytes);
  EXPECT_TRUE(frame.ok()) << frame.status();
  if (!frame.ok() || !frame->has_value()) {
    ADD_FAILURE() << "no whole frame: " << absl::BytesToHexString(bytes);
    return Frame();
  }
  EXPECT_EQ((*frame)->bytes(), bytes.size());
  return **frame;
}

// The document that a response has.
inline absl::StatusOr<MetadataInfo> InfoIn(const std::string& response) {
  const Frame frame = Parsed(response);
  if (frame.status != kOk) return absl::UnavailableError(DecodeErrorText(frame.body));
  const auto answer = DecodeAnswer(frame.body, hessian2::DecodeLimits());
  if (!answer.ok()) return answer.status();
  if (answer->kind != Answer::Kind::kValue) return absl::NotFoundError("no value");
  return hessian2::MetadataInfoOf(*answer->value);
}

// A frame that was recorded between a peer and a question: `name` is the begin of its line.
inline std::string Recorded(const std::string& name) {
  std::ifstream file("tests/interop/captures/metadata-service.txt");
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, name.size(), name) != 0) continue;
    return absl::HexStringToBytes(line.substr(line.find("dabb")));
  }
  ADD_FAILURE() << name << ": not recorded";
  return "";
}

}  // namespace signpost::metadata_dubbo_internal

#endif  // SIGNPOST_TESTS_METADATA_DUBBO_FRAMES_H_
