// A callable by reference: what crosses into compiled code where a template cannot, without the allocation
// of std::function. It does not own; the callable must outlive the call it is passed to.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace napkin {

template <class Signature>
class function_ref;

template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  /// Refers to nothing; must not be called.
  constexpr function_ref() = default;

  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, function_ref> &&
           std::is_invocable_r_v<Result, F&, Arguments...> &&
           !std::is_function_v<std::remove_reference_t<F>>) constexpr function_ref(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  constexpr Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }
  constexpr explicit operator bool() const { return call_ != nullptr; }

 private:
  void* object_ = nullptr;
  Result (*call_)(void*, Arguments...) = nullptr;
};

}  // namespace napkin
