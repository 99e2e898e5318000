namespace cpp example

service Greeter {
  string greet(1: string name)
}
