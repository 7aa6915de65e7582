// Buys with the generated C# client, and reads what came of it.
using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Text;
using System.Threading;
using Countersign.Api;
using Countersign.Client;
using Countersign.Model;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

static class Buy
{
    const string App = "com.example.game", Account = "generated-csharp", Product = "gems.100";

    static void Expect(string what, bool isSo, object found)
    {
        if (!isSo)
        {
            Console.Error.WriteLine("buy.cs: {0}: {1}", what, found);
            Environment.Exit(1);
        }
        Console.WriteLine("buy.cs: " + what);
    }

    // The player buys, in the App Store that is played here.
    static JToken Sell(string simulator, string token)
    {
        var sale = new { bundleId = App, productId = Product, type = "Consumable", appAccountToken = token };
        var body = new StringContent(JsonConvert.SerializeObject(sale), Encoding.UTF8, "application/json");
        using (var client = new HttpClient())
        using (var answer = client.PostAsync(simulator + "/simulator/v1/sales", body).Result)
        {
            return JObject.Parse(answer.Content.ReadAsStringAsync().Result)["transactions"][0];
        }
    }

    static TransactionFulfilledEvent Webhook(string path)
    {
        for (var tries = 0; tries < 150 && !File.Exists(path); tries++) Thread.Sleep(200);
        return JsonConvert.DeserializeObject<TransactionFulfilledEvent>(File.ReadAllText(path));
    }

    static void Main(string[] arguments)
    {
        var configuration = new Configuration { BasePath = arguments[0], AccessToken = arguments[1] };
        var purchases = new PurchasesApi(configuration);
        var reading = new ReadingApi(configuration);
        var intent = purchases.PostIntent(new IntentRequest(app: App, account: Account, productId: Product));
        var sale = Sell(arguments[2], intent.Id);
        var transaction = (string)sale["transactionId"];
        var settled = purchases.PostPurchase(new PurchaseRequest(
            app: App, account: Account, signedTransaction: (string)sale["signedTransaction"]), 25);
        Expect("the purchase is fulfilled, and may be finished",
            settled.State == SettledPurchase.StateEnum.Fulfilled && settled.Finish, settled);
        var orders = reading.ListOrders(App, account: Account);
        Expect("its order is listed", orders.Data.Any(order => order.TransactionId == transaction), orders);
        var told = Webhook(Path.Combine(arguments[3], transaction + ".json"));
        Expect("a webhook told of it",
            told.Customer.Id == Account && told.Data.Entries.Any(entry => entry.Item == "gem" && entry.Amount == 100), told);
        try
        {
            reading.GetAccount(Account, "com.example.nobody");
            Expect("a problem is thrown", false, null);
        }
        catch (ApiException error)
        {
            var problem = JsonConvert.DeserializeObject<Problem>((string)error.ErrorContent);
            Expect("a problem is read as one", problem.Code == "app-unknown", error);
        }
    }
}
