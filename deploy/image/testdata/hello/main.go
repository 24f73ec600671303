// Command hello stands in for the server in the tests.
package main

func main() { println("hello") }
