// Stops new work and waits for running work: what watcher callbacks need at shutdown.
//
// Threads: any. Close() may be called from work that holds a Pass of this gate on the same
//   thread; it then does not wait for that work.
// Errors: none; Enter() on a closed gate gives an empty Pass.
#ifndef SIGNPOST_COMMON_GATE_H_
#define SIGNPOST_COMMON_GATE_H_

#include <memory>

namespace signpost {

class Gate {
 private:
  struct State;

 public:
  // Holds the gate open while it lives. False when the gate was closed already.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass();
    explicit operator bool() const { return state_ != nullptr; }

   private:
    friend class Gate;
    explicit Pass(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
  };

  Gate();
  ~Gate();  // Close()
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A Pass is given back on the thread that got it.
  Pass Enter();

  // After it has returned no Pass is given out, and none is held by another thread (but those that
  // are in Close() themselves, if this thread holds one too). Idempotent.
  void Close();
  bool closed() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_GATE_H_
