// Whatever comes from a socket of the Dubbo protocol, read as server and as client.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "signpost/common/clock.h"
#include "signpost/metadata/dubbo/answer_frame.h"
#include "signpost/metadata/dubbo/frame.h"
#include "signpost/metadata/published_metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using signpost::metadata_dubbo_internal::AnswerFrame;
  using signpost::metadata_dubbo_internal::DecodeAnswer;
  using signpost::metadata_dubbo_internal::DecodeErrorText;
  using signpost::metadata_dubbo_internal::FirstFrame;
  constexpr size_t kMaxBody = 64 << 10;
  static const signpost::PublishedMetadata* const service =
      new signpost::PublishedMetadata("shop", signpost::Clock::Real());

  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (;;) {
    const auto frame = FirstFrame(bytes, kMaxBody);
    if (!frame.ok() || !frame->has_value()) return 0;
    const std::string answer = AnswerFrame(*service, **frame);
    if (!answer.empty()) {
      // It is a whole frame, to the same request.
      const auto back = FirstFrame(answer, kMaxBody);
      if (!back.ok() || !back->has_value() || (*back)->id != (*frame)->id) std::abort();
    }
    DecodeAnswer((*frame)->body, signpost::hessian2::DecodeLimits()).IgnoreError();
    DecodeErrorText((*frame)->body);
    bytes.remove_prefix((*frame)->bytes());
  }
}
