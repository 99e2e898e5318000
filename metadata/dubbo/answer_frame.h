// What the server says to one frame. Private to this folder.
//
// Only MetadataService 1.0.0 is there: no other interface, group or version, and none of what Dubbo
// has for every service ($invoke, $echo).
//
// Threads: any.
// Errors: are answers, with a status and a text. A revision that is not known is kServiceError: a
//   Java consumer makes an exception of it and asks again. It would do so with null too, but that
//   says nothing; an empty document it would keep for good.
// Source: HeaderExchangeHandler, HeartbeatHandler and DubboProtocol of Dubbo 3.3.
#ifndef SIGNPOST_METADATA_DUBBO_ANSWER_FRAME_H_
#define SIGNPOST_METADATA_DUBBO_ANSWER_FRAME_H_

#include <string>

#include "signpost/metadata/dubbo/frame.h"
#include "signpost/metadata/metadata_service.h"

namespace signpost::metadata_dubbo_internal {

// A whole frame; empty: nothing is said (one-way requests, responses). Its body has at most
// kDubboPayloadBytes: a consumer would not take more.
std::string AnswerFrame(const MetadataService& service, const Frame& frame);
// The same while nothing may be said: kThreadPoolExhausted, on which a consumer asks another one.
std::string BusyFrame(const Frame& frame);

}  // namespace signpost::metadata_dubbo_internal

#endif  // SIGNPOST_METADATA_DUBBO_ANSWER_FRAME_H_
