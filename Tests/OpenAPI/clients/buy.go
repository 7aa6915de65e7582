// Buys with the generated Go client, and reads what came of it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	countersign "example.com/countersign/client"
)

const app, account, product = "com.example.game", "generated-go", "gems.100"

var intake, key, simulator, webhooks = os.Args[1], os.Args[2], os.Args[3], os.Args[4]

func expect(what string, isSo bool, found ...any) {
	if !isSo {
		log.Fatalf("buy.go: %s: %+v", what, found)
	}
	fmt.Println("buy.go:", what)
}

type sale struct{ TransactionId, SignedTransaction string }

// The player buys, in the App Store that is played here.
func sell(token string) sale {
	body, _ := json.Marshal(map[string]string{
		"bundleId": app, "productId": product, "type": "Consumable", "appAccountToken": token})
	answer, err := http.Post(simulator+"/simulator/v1/sales", "application/json", bytes.NewReader(body))
	var sold struct{ Transactions []sale }
	if err == nil {
		err = json.NewDecoder(answer.Body).Decode(&sold)
	}
	if err != nil || len(sold.Transactions) == 0 {
		log.Fatal("buy.go: the simulator sells nothing: ", err)
	}
	return sold.Transactions[0]
}

func webhook(transaction string) (event countersign.TransactionFulfilledEvent, err error) {
	var body []byte
	for tries := 0; tries < 150; tries++ {
		if body, err = os.ReadFile(webhooks + "/" + transaction + ".json"); err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	return
}

func main() {
	configuration := countersign.NewConfiguration()
	configuration.Servers = countersign.ServerConfigurations{{URL: intake}}
	client := countersign.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), countersign.ContextAccessToken, key)

	opening := countersign.NewIntentRequest(app, product)
	opening.SetAccount(account)
	intent, _, err := client.PurchasesAPI.PostIntent(ctx).IntentRequest(*opening).Execute()
	expect("an intent is opened", err == nil, err)
	sold := sell(intent.Id)
	request := countersign.NewPurchaseRequest(app)
	request.SetAccount(account)
	request.SetSignedTransaction(sold.SignedTransaction)
	settled, _, err := client.PurchasesAPI.PostPurchase(ctx).Wait(25).PurchaseRequest(*request).Execute()
	expect("the purchase is fulfilled, and may be finished", err == nil && settled.State == "fulfilled" && settled.Finish, err, settled)
	orders, _, err := client.ReadingAPI.ListOrders(ctx).App(app).Account(account).Execute()
	expect("its order is listed", err == nil && len(orders.Data) > 0 && orders.Data[0].TransactionId == sold.TransactionId, err, orders)
	event, err := webhook(sold.TransactionId)
	expect("a webhook told of it", err == nil && event.Customer.Id == account && event.Data.Entries[0].Amount == 100, err, event)
	_, _, err = client.ReadingAPI.GetAccount(ctx, account).App("com.example.nobody").Execute()
	failure, isFailure := err.(*countersign.GenericOpenAPIError)
	problem, isProblem := countersign.Problem{}, false
	if isFailure {
		problem, isProblem = failure.Model().(countersign.Problem)
	}
	expect("a problem is read as one", isProblem && problem.Code == "app-unknown", err)
}
